import { createJobSlot, type JobSlot, type SlotParts } from '../../../agent/job-slot.ts';
import type { Answer } from '../../../agent/reporter.ts';
import type { Run, RunEars } from '../../../agent/run.ts';
import type { StatusReportBody } from '../../../protocol/worker-api.ts';
import type { Prepared } from '../../../agent/trainer.ts';
import { scriptJob } from './builders.ts';

/** A report on its way, to be answered by the test. */
interface SentReport {
  readonly attempt: string;
  readonly body: StatusReportBody;
  readonly signal: AbortSignal;
  readonly answer: (answer: Answer) => Promise<void>;
}

/** A trainer in the test's hands. */
interface HeldRun {
  readonly ears: RunEars;
  readonly stops: readonly number[];
  end(code: number | null, signal?: string | null, tail?: string): Promise<void>;
}

export interface SlotBench {
  readonly slot: JobSlot;
  /** What the slot did, in order, but for reports and mentions. */
  readonly did: readonly string[];
  readonly reports: readonly SentReport[];
  readonly mentions: readonly StatusReportBody[];
  readonly runs: readonly HeldRun[];
  readonly said: readonly string[];
}

/** Lets everything happen that waits for nothing but its turn. */
export const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));

const preparedJob: Prepared = { ok: true, job: scriptJob('/nowhere', '') };

/** A slot between a scripted orchestrator and scripted trainers. */
export function createSlotBench(overrides: Partial<SlotParts> = {}): SlotBench {
  const did: string[] = [];
  const reports: SentReport[] = [];
  const mentions: StatusReportBody[] = [];
  const runs: HeldRun[] = [];
  const said: string[] = [];

  const startHeld = (ears: RunEars): Run => {
    const ended = Promise.withResolvers<Awaited<Run['finished']>>();
    const stops: number[] = [];
    runs.push({
      ears,
      stops,
      end: (code, signal = null, tail = '') => {
        ended.resolve({ code, signal, tail });
        return turn();
      },
    });
    return {
      pid: 4711,
      finished: ended.promise,
      stop: graceMs => {
        did.push(`stop ${graceMs}`);
        stops.push(graceMs);
      },
    };
  };

  const slot = createJobSlot({
    prepare: offer => {
      did.push(`prepare ${offer.attempt_id}`);
      return preparedJob;
    },
    start: async (_job, ears) => {
      did.push('start');
      return startHeld(ears);
    },
    report: (_job, attempt, body, signal) =>
      new Promise(resolve => {
        // As the reporter has it: the signal ends the repetitions.
        signal.addEventListener('abort', () => resolve('aborted'));
        const answer = (given: Answer): Promise<void> => {
          resolve(given);
          return turn();
        };
        reports.push({ attempt, body, signal, answer });
      }),
    mention: (_held, body) => void mentions.push(body),
    keep: ({ attemptId, body }) => void did.push(`keep ${attemptId} ${body.status}`),
    drop: () => void did.push('drop'),
    graceMs: () => 30_000,
    say: message => void said.push(message),
    onLine: () => {},
    onFree: worked => {
      did.push(`free ${worked}`);
      return true;
    },
    ...overrides,
  });
  return { slot, did, reports, mentions, runs, said };
}

/** The last element, which has to be there. */
export function newest<T>(list: readonly T[]): T {
  const last = list.at(-1);
  if (last === undefined) throw new Error('nothing has happened yet');
  return last;
}
