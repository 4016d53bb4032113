import type { Page } from '@playwright/test';

const listening = `document.addEventListener('securitypolicyviolation', event => {
  const { effectiveDirective, blockedURI, sourceFile, lineNumber, sample } = event;
  noteForbidden(\`\${effectiveDirective} forbids \${blockedURI} in \${sourceFile}:\${lineNumber} \${sample}\`);
});`;

/**
 * Records violations of the page's Content-Security-Policy. Each call of the returned function returns the new ones.
 */
export async function recordPolicyViolations(page: Page): Promise<() => readonly string[]> {
  const found: string[] = [];
  await page.exposeFunction('noteForbidden', (what: string) => void found.push(what));
  await page.addInitScript(listening);
  return () => found.splice(0);
}
