export type Progress = {
  /** Steps done, over all attempts. */
  readonly step: number;
  readonly totalSteps: number;
  /** The epoch that this step belongs to, counted from 1. */
  readonly epoch: number;
  /** Running mean, in nats. */
  readonly loss: number;
  readonly learningRate: number;
  /** Over the last two seconds or so. */
  readonly stepsPerSecond: number;
};

export type Reporter = {
  /** Passes the progress of a step on when a report is due: four a second, and the first and the last step always. */
  readonly afterStep: (progress: Omit<Progress, 'stepsPerSecond'>) => void;
};

const REPORT_EVERY_MS = 250;
const MARKS = 8;

/** `startStep` steps were done when the reporter was made; `now` is monotonic, in milliseconds. */
export function createReporter(
  now: () => number,
  startStep: number,
  report: (progress: Progress) => void,
): Reporter {
  // The speed is taken from the oldest of the last reports: that of one report alone jumps about.
  const marks = [{ atMs: now(), step: startStep }];

  return {
    afterStep: progress => {
      const atMs = now();
      const isFirst = progress.step === startStep + 1;
      const isLast = progress.step === progress.totalSteps;
      const [oldest = { atMs, step: progress.step }] = marks;
      const newest = marks.at(-1) ?? oldest;
      if (!isFirst && !isLast && atMs - newest.atMs < REPORT_EVERY_MS) return;
      const elapsedMs = atMs - oldest.atMs;
      const stepsPerSecond = elapsedMs > 0 ? ((progress.step - oldest.step) * 1000) / elapsedMs : 0;
      report({ ...progress, stepsPerSecond });
      marks.push({ atMs, step: progress.step });
      if (marks.length > MARKS) marks.shift();
    },
  };
}
