import type { UiEvent } from '../../protocol/events.ts';
import type { JobId } from '../../protocol/ids.ts';
import { isFinal, type ShownStatus, type JobView } from '../../protocol/job.ts';
import type { WorkerStatus, WorkerView } from '../../protocol/worker.ts';
import { openEvents } from '../../main/cli/event-feed.ts';

/** Records all events of a server from the start of the watch on. Tests wait for events instead of sleeping. */
export interface Watch {
  readonly seen: readonly UiEvent[];
  /**
   * Calls `pick` for past and future events. Resolves with its first result other than null. Rejects when the event stream ends
   * without such a result.
   */
  until<T>(what: string, pick: (event: UiEvent) => T | null): Promise<T>;
  /** Resolves with the job at the first event that shows the job with this status. */
  job(id: JobId, status: ShownStatus): Promise<JobView>;
  /** Resolves with the job when it has completed, failed or been cancelled. */
  jobEnd(id: JobId): Promise<JobView>;
  /** Resolves with the worker at the first event that shows the worker with this status. */
  worker(id: string, status: WorkerStatus): Promise<WorkerView>;
  close(): void;
}

export async function watchEvents(url: string, token: string): Promise<Watch> {
  const seen: UiEvent[] = [];
  const waiting = new Set<() => void>();
  const controller = new AbortController();
  let ended: string | null = null;
  const events = await openEvents({ url, token, signal: controller.signal });
  const readEvents = async (): Promise<void> => {
    for await (const event of events) {
      seen.push(event);
      for (const check of waiting) check();
    }
  };
  const finish = (cause?: unknown): void => {
    ended = cause instanceof Error ? cause.message : 'the stream ended';
    for (const check of waiting) check();
  };
  readEvents().then(() => finish(), finish);

  const until = <T>(what: string, pick: (event: UiEvent) => T | null): Promise<T> =>
    new Promise((resolve, reject) => {
      let next = 0;
      const check = (): void => {
        while (next < seen.length) {
          const event = seen[next];
          next += 1;
          const result = event === undefined ? null : pick(event);
          if (result === null) continue;
          waiting.delete(check);
          resolve(result);
          return;
        }
        if (ended !== null) reject(new Error(`waiting for ${what}: ${ended}`));
      };
      waiting.add(check);
      check();
    });

  const jobWhere = (id: JobId, what: string, fits: (job: JobView) => boolean): Promise<JobView> =>
    until(`job ${id} ${what}`, event =>
      event.kind === 'job' && event.job_id === id && event.job !== null && fits(event.job) ? event.job : null,
    );
  return {
    seen,
    until,
    job: (id, status) => jobWhere(id, status, job => job.status === status),
    jobEnd: id => jobWhere(id, 'at its end', job => isFinal(job.status)),
    worker: (id, status) =>
      until(`worker ${id} ${status}`, event =>
        event.kind === 'worker' && event.worker_id === id && event.worker?.status === status
          ? event.worker
          : null,
      ),
    close: () => controller.abort(),
  };
}
