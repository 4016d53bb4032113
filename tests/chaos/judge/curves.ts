import { type AttemptEvidence, type JobCase, runsOf, type Violation } from './violation.ts';

/**
 * Outcomes of attempts whose trainer may have continued after another attempt replaced them. Their last points may be missing.
 */
const replacedOutcomes: ReadonlySet<string | null> = new Set(['given_up', 'withdrawn']);

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
  const violations: Violation[] = [];
  const report = (rule: string, what: string): void =>
    void violations.push({ rule, what: `attempt ${attempt.attempt}: ${what}`, job: job.id });
  const storedSteps = new Set<number>();
  for (const { step, value, count } of points) {
    if (step === null) {
      report('points match the printed losses', 'a loss has no step');
      continue;
    }
    const printedLoss = printed.get(step);
    if (storedSteps.has(step) || count !== 1)
      report('each point is stored once', `step ${step} occurs more than once (count ${count})`);
    else if (printedLoss !== value)
      report(
        'points match the printed losses',
        `step ${step} is ${value}, but the trainer printed ${printedLoss}`,
      );
    storedSteps.add(step);
  }
  if (replacedOutcomes.has(attempt.outcome)) return violations;
  // The last output of a killed process may not have reached its agent.
  const wasKilled = runs.some(({ code }) => code === null);
  const lastStep = Math.max(...printed.keys());
  const mayBeMissing = (step: number): boolean => wasKilled && step === lastStep;
  const missing = [...printed.keys()].filter(step => !storedSteps.has(step) && !mayBeMissing(step));
  if (missing.length > 0)
    report('points arrive', `steps ${rangesOf(missing)} of ${printed.size} are missing (${attempt.outcome})`);
  return violations;
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
