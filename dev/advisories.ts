import { z } from 'zod';

const severities = ['info', 'low', 'moderate', 'high', 'critical'] as const;
const severe: ReadonlySet<string> = new Set(['high', 'critical']);

/** The fields of `npm audit --json` (report version 2) that this module reads. */
const Report = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    z.object({ severity: z.enum(severities), range: z.string().optional() }),
  ),
});

export type Judgement =
  /** `minor` is the number of packages with a vulnerability of lower severity. */
  | { readonly kind: 'clean'; readonly minor: number }
  /** Packages with a known vulnerability of high or critical severity. */
  | { readonly kind: 'vulnerable'; readonly packages: readonly string[] }
  /** The registry did not answer, or provides no advisories. */
  | { readonly kind: 'unanswered'; readonly why: string };

/** Evaluates an audit report. Output that is not a report never counts as clean. */
export function judgeAudit(text: string): Judgement {
  const report = Report.safeParse(parseJson(text));
  if (!report.success) return { kind: 'unanswered', why: reasonIn(text) };
  const vulnerabilities = Object.entries(report.data.vulnerabilities);
  const packages = vulnerabilities
    .filter(([, { severity }]) => severe.has(severity))
    .map(([name, { severity, range }]) => `${name} ${range ?? ''} (${severity})`);
  return packages.length > 0
    ? { kind: 'vulnerable', packages }
    : { kind: 'clean', minor: vulnerabilities.length };
}

const Failure = z.object({ message: z.string().min(1) });

/** Returns npm's reason for the missing report. */
function reasonIn(text: string): string {
  const failure = Failure.safeParse(parseJson(text));
  const reason = failure.success ? failure.data.message : text.replaceAll(/\s+/g, ' ').trim();
  return reason.slice(0, 300) || 'npm printed nothing';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
