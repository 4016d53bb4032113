export type Progress = {
  /** Number of completed steps, over all attempts. */
  readonly step: number;
  readonly totalSteps: number;
  /** The epoch of this step, counted from 1. */
  readonly epoch: number;
  /** Running mean of the loss, in nats. */
  readonly loss: number;
  readonly learningRate: number;
  /** Mean speed over about the last two seconds. */
  readonly stepsPerSecond: number;
};

export type Reporter = {
  /** Call after each step. Reports the progress at most four times a second, and always for the first and the last step. */
  readonly afterStep: (progress: Omit<Progress, 'stepsPerSecond'>) => void;
};

const REPORT_EVERY_MS = 250;
/** Number of reports over which the speed is measured. */
const SPEED_REPORTS = 8;

/** Creates a reporter. Earlier attempts completed `startStep` steps; `now` is monotonic, in milliseconds. */
export function createReporter(
  now: () => number,
  startStep: number,
  report: (progress: Progress) => void,
): Reporter {
  // Measure the speed over the last few reports, because it would fluctuate too much over a single one.
  const reports = [{ atMs: now(), step: startStep }];

  return {
    afterStep: progress => {
      const atMs = now();
      const isFirst = progress.step === startStep + 1;
      const isLast = progress.step === progress.totalSteps;
      const [oldest = { atMs, step: progress.step }] = reports;
      const newest = reports.at(-1) ?? oldest;
      if (!isFirst && !isLast && atMs - newest.atMs < REPORT_EVERY_MS) return;
      const elapsedMs = atMs - oldest.atMs;
      const stepsPerSecond = elapsedMs > 0 ? ((progress.step - oldest.step) * 1000) / elapsedMs : 0;
      report({ ...progress, stepsPerSecond });
      reports.push({ atMs, step: progress.step });
      if (reports.length > SPEED_REPORTS) reports.shift();
    },
  };
}
