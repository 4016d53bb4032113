import type { JobView } from '../../../protocol/job.ts';
import type { WorkerView } from '../../../protocol/worker.ts';

/** What somebody should look at, the most pressing first. */
export type Need =
  | { readonly kind: 'silent'; readonly job: JobView }
  | { readonly kind: 'quarantined' | 'duplicate'; readonly worker: WorkerView }
  | { readonly kind: 'approval'; readonly job: JobView };

export interface Figures {
  readonly idle: number;
  readonly busy: number;
  readonly offline: number;
  readonly workers: number;
  readonly gpusBusy: number;
  readonly gpus: number;
  readonly waiting: number;
  /** Of the job that has waited for longest; null when none waits. */
  readonly oldestAt: string | null;
  readonly completed: number;
  readonly failed: number;
}

const dayMs = 86_400_000;

/** What the tiles say; of the jobs that have ended, those of the last 24 hours count. */
export function figuresOf(workers: Iterable<WorkerView>, jobs: Iterable<JobView>, now: number): Figures {
  const all = [...workers];
  const here = all.filter(({ status }) => status !== 'offline');
  const of = (...states: readonly string[]): readonly WorkerView[] =>
    all.filter(({ status }) => states.includes(status));
  const gpus = (some: readonly WorkerView[]): number =>
    some.reduce((sum, { gpu_count: count }) => sum + count, 0);
  const known = [...jobs];
  const waiting = known.filter(({ status }) => status === 'pending');
  const ended = known.filter(({ completed_at: at }) => at !== null && now - Date.parse(at) < dayMs);
  return {
    idle: of('idle').length,
    busy: of('busy', 'draining').length,
    offline: of('offline').length,
    workers: all.length,
    gpusBusy: gpus(here.filter(({ current_job_id: job }) => job !== null)),
    gpus: gpus(here),
    waiting: waiting.length,
    oldestAt: waiting.map(({ queued_at: at }) => at).toSorted()[0] ?? null,
    completed: ended.filter(({ status }) => status === 'completed').length,
    failed: ended.filter(({ status }) => status === 'failed').length,
  };
}

export function needsOf(workers: Iterable<WorkerView>, jobs: Iterable<JobView>): readonly Need[] {
  const known = [...jobs];
  const all = [...workers];
  return [
    ...known.filter(({ hold }) => hold?.kind === 'silent').map(job => ({ kind: 'silent' as const, job })),
    ...all
      .filter(worker => worker.quarantine !== null)
      .map(worker => ({ kind: 'quarantined' as const, worker })),
    ...all
      .filter(worker => worker.duplicate !== null)
      .map(worker => ({ kind: 'duplicate' as const, worker })),
    ...known
      .filter(({ status, approval }) => status === 'pending' && approval === 'wanted')
      .map(job => ({ kind: 'approval' as const, job })),
  ];
}
