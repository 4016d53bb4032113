import type { ValueOf } from '../../../protocol/client.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { shownName } from '../../../protocol/job-about.ts';
import type { ShownStatus } from '../../../protocol/job.ts';
import type { timelineApi } from '../../../protocol/timeline-api.ts';

export type Timeline = ValueOf<typeof timelineApi.read>;
type Outcome = 'completed' | 'failed' | 'cancelled' | 'requeued' | 'given_up' | 'withdrawn';

/** The state of a bar: the outcome of an ended attempt, the job's status for a live attempt, or `predicted`. */
export type BarState = ShownStatus | Outcome | 'predicted';

/** An attempt or a predicted attempt on one worker. Times are in milliseconds since 1970. */
export interface Bar {
  readonly key: string;
  readonly jobId: JobId;
  readonly workerId: WorkerId;
  readonly name: string;
  /** Null for a prediction. */
  readonly attempt: number | null;
  readonly state: BarState;
  readonly from: number;
  /** Start of the training; null before it has started. */
  readonly startedAt: number | null;
  /** End of the attempt; null while the attempt is live. For a prediction, the predicted end or null. */
  readonly to: number | null;
  /** Predicted end of a live attempt; null when unknown. */
  readonly expectedTo: number | null;
  /** True for the first worker of an attempt. Only these bars of a job are connected by lines. */
  readonly isFirst: boolean;
}

const outcomes: ReadonlySet<string> = new Set<Outcome>([
  'completed',
  'failed',
  'cancelled',
  'requeued',
  'given_up',
  'withdrawn',
]);
const isOutcome = (word: string): word is Outcome => outcomes.has(word);

/** Maps an unknown outcome, from a newer server, to `withdrawn`, which has a neutral look. */
const toOutcome = (word: string): Outcome => (isOutcome(word) ? word : 'withdrawn');

const msOrNull = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/** Converts a response to bars, sorted by their start. */
export function toBars({ bars, predictions, jobs }: Timeline): readonly Bar[] {
  const byId = new Map(jobs.map(job => [job.id, job]));
  const nameOf = (id: JobId): string => {
    const job = byId.get(id);
    return job === undefined ? id : shownName(job);
  };
  const attempts = bars.map((bar): Bar => {
    const job = byId.get(bar.job_id);
    return {
      key: `${bar.attempt_id} ${bar.rank ?? 0}`,
      jobId: bar.job_id,
      workerId: bar.worker_id,
      name: nameOf(bar.job_id),
      attempt: bar.attempt,
      state: bar.outcome === null ? (job?.status ?? 'running') : toOutcome(bar.outcome),
      from: Date.parse(bar.offered_at),
      startedAt: msOrNull(bar.started_at),
      to: msOrNull(bar.ended_at),
      expectedTo: msOrNull(bar.expected_end_at),
      isFirst: (bar.rank ?? 0) === 0,
    };
  });
  const predicted = predictions.flatMap(prediction =>
    prediction.worker_ids.map(
      (workerId, rank): Bar => ({
        key: `predicted ${prediction.job_id} ${rank}`,
        jobId: prediction.job_id,
        workerId,
        name: nameOf(prediction.job_id),
        attempt: null,
        state: 'predicted',
        from: Date.parse(prediction.starts_at),
        startedAt: null,
        to: msOrNull(prediction.ends_at),
        expectedTo: null,
        isFirst: rank === 0,
      }),
    ),
  );
  return [...attempts, ...predicted].toSorted((a, b) => a.from - b.from || a.key.localeCompare(b.key));
}

/** Length of a prediction whose end is unknown, in milliseconds. */
const unknownMs = 10 * 60_000;

/** Returns the drawn end of a bar. A live attempt is drawn until now, or until its predicted end if that is later. */
export function shownEnd({ state, from, to, expectedTo }: Bar, now: number): number {
  if (state === 'predicted') return to ?? from + unknownMs;
  return to ?? Math.max(now, expectedTo ?? now);
}
