import { systemClock } from '../../../agent/clock.ts';
import { createJobSlot, type JobSlot, type SlotDeps } from '../../../agent/session/job-slot.ts';
import type { PreparedJob } from '../../../agent/job.ts';
import type { Answer } from '../../../agent/attempt/reports.ts';
import type { RunOrigin } from '../../../agent/attempt/run.ts';
import type { StatusReportBody } from '../../../protocol/worker-api.ts';
import type { Prepared } from '../../../agent/attempt/trainer.ts';
import { reachable, scriptJob } from './builders.ts';
import { type ControlledRun, controlRun, flushCallbacks } from './controlled-runs.ts';

/** A status report of the slot, which the test must answer. */
interface SentReport {
  readonly attempt: string;
  readonly body: StatusReportBody;
  readonly signal: AbortSignal;
  readonly answer: (answer: Answer) => Promise<void>;
}

export interface SlotFixture {
  readonly slot: JobSlot;
  /** The calls of the slot in order, except reports. */
  readonly actions: readonly string[];
  readonly reports: readonly SentReport[];
  /** The progress reports, which need no answer. */
  readonly progressReports: readonly StatusReportBody[];
  readonly runs: readonly ControlledRun[];
  /** The job, the attempt and the contact rules of each started run. */
  readonly origins: readonly RunOrigin[];
  /** The jobs that were started. */
  readonly jobs: readonly PreparedJob[];
  readonly logLines: readonly string[];
}

const preparedJob: Prepared = { ok: true, job: scriptJob('/nowhere', '') };

/** Creates a job slot whose reports and trainers the test controls. */
export function createSlotFixture(overrides: Partial<SlotDeps> = {}): SlotFixture {
  const actions: string[] = [];
  const reports: SentReport[] = [];
  const progressReports: StatusReportBody[] = [];
  const runs: ControlledRun[] = [];
  const origins: RunOrigin[] = [];
  const jobs: PreparedJob[] = [];
  const logLines: string[] = [];

  const slot = createJobSlot({
    prepare: offer => {
      actions.push(`prepare ${offer.attempt_id}`);
      return preparedJob;
    },
    start: async (job, origin, listeners) => {
      actions.push('start');
      jobs.push(job);
      origins.push(origin);
      const controlled = controlRun(listeners, graceMs => actions.push(`stop ${graceMs}`));
      runs.push(controlled);
      return controlled.run;
    },
    report: (_job, attempt, body, signal) =>
      new Promise(resolve => {
        // The signal ends the retries, like in the real reporter.
        signal.addEventListener('abort', () => resolve('aborted'));
        const answer = (value: Answer): Promise<void> => {
          resolve(value);
          return flushCallbacks();
        };
        reports.push({ attempt, body, signal, answer });
      }),
    reachable,
    reportProgress: (_attempt, body) => void progressReports.push(body),
    keep: ({ attemptId, body }) => void actions.push(`keep ${attemptId} ${body.status}`),
    drop: attempt => void actions.push(`drop ${attempt}`),
    limits: () => ({ timeoutMs: 120_000, graceMs: 30_000 }),
    clock: systemClock,
    log: message => void logLines.push(message),
    onLine: () => {},
    curve: () => ({
      ready: Promise.resolve(),
      note: () => {},
      finish: () => {},
      done: Promise.resolve(true),
    }),
    onFree: hasWorked => {
      actions.push(`free ${hasWorked}`);
      return true;
    },
    ...overrides,
  });
  return { slot, actions, reports, progressReports, runs, origins, jobs, logLines };
}
