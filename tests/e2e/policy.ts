import type { Page } from '@playwright/test';

/** A script for the page. It reports each violation to the test. */
const reportViolations = `document.addEventListener('securitypolicyviolation', event => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
  reportViolation(\`\${effectiveDirective} forbids \${blockedURI} in \${sourceFile}:\${lineNumber} \${sample}\`);
});`;

/** Records violations of the page's Content-Security-Policy. The returned function returns the violations since its last call. */
export async function recordPolicyViolations(page: Page): Promise<() => readonly string[]> {
  const violations: string[] = [];
  await page.exposeFunction('reportViolation', (violation: string) => void violations.push(violation));
  await page.addInitScript(reportViolations);
  return () => violations.splice(0);
}
