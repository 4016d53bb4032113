import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/**
 * Outcomes of attempts that were replaced while their trainer may still have been running. Their last points may be
 * missing.
 */
const cutOff: ReadonlySet<string | null> = new Set(['given_up', 'withdrawn']);

/** Checks that each loss printed by a trainer is one point on the curve of its attempt. */
export function judgeCurves(jobCase: JobCase): readonly Violation[] {
  return jobCase.evidence.job.attempts.flatMap(attempt => judgeCurve(jobCase, attempt));
}

function judgeCurve(jobCase: JobCase, attempt: AttemptEvidence): readonly Violation[] {
  const { job, curves } = jobCase.evidence;
  const points = curves.get(attempt.attempt) ?? [];
  const runs = runsOf(jobCase, attempt);
  const steps = runs.flatMap(({ lines }) => lines).filter(line => line.kind === 'step');
  const printed = new Map(steps.map(({ step, loss }) => [step, loss]));
  const found = (rule: string, what: string): Violation => ({
    rule,
    what: `attempt ${attempt.attempt}: ${what}`,
    job: job.id,
  });
  const seen = new Set<number>();
  const odd = points.flatMap(({ step, value, count }) => {
    if (step === null) return [found('points match the printed losses', 'a loss has no step')];
    const isTwice = seen.has(step);
    seen.add(step);
    if (isTwice || count !== 1)
      return [found('each point is stored once', `step ${step} occurs more than once (count ${count})`)];
    return printed.get(step) === value
      ? []
      : [
          found(
            'points match the printed losses',
            `step ${step} is ${value}, but the trainer printed ${printed.get(step)}`,
          ),
        ];
  });
  if (cutOff.has(attempt.outcome)) return odd;
  // The last output of a killed process may not have reached its agent.
  const isUnsure = runs.some(({ code }) => code === null);
  const last = Math.max(...printed.keys());
  const missing = [...printed.keys()].filter(step => !seen.has(step) && !(isUnsure && step === last));
  return missing.length === 0
    ? odd
    : [
        ...odd,
        found(
          'points arrive',
          `steps ${rangesOf(missing)} of ${printed.size} are missing (${attempt.outcome})`,
        ),
      ];
}

/** Formats numbers as ranges, such as `3-7, 9`. */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const number of numbers.toSorted((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}
