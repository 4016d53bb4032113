import { AttemptId, JobId, WorkerId } from '../../../protocol/ids.ts';
import { nothingAbout } from '../../../protocol/job-about.ts';
import type { FinalStatus, LiveStatus } from '../../../protocol/job.ts';
import type {
  Attempt,
  AttemptEnd,
  Job,
  JobPayload,
  LiveJob,
  Log,
  PendingJob,
  Store,
  Worker,
} from '../../../main/orchestrator/ports/index.ts';
import type { StoreDeps } from '../../../main/store/sqlite-store.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { testSeal } from '../../support/seal.ts';

// Opens an empty store, which is closed after the test.
export type OpenStore = () => Store;

type EndedJob = Extract<Job, { endedAt: number }>;

export const workerId = (id: string): WorkerId => WorkerId.parse(id);
export const jobId = (id: string): JobId => JobId.parse(id);

// Returns a time in Unix milliseconds, given in seconds after the start of 2026.
export const at = (seconds: number): number => Date.UTC(2026, 0, 1) + seconds * 1_000;

const silentLog: Log = { info: () => {}, warn: () => {}, error: () => {} };

// Dependencies with a stopped clock and with callbacks that do nothing.
export const quietDeps = (): StoreDeps => ({
  log: silentLog,
  clock: createVirtualClock(),
  seal: testSeal,
  onFatal: () => {},
});

export function makeWorker(changes: Partial<Worker> = {}): Worker {
  return {
    id: workerId('w_1'),
    name: 'rig-1',
    type: 'persistent',
    local: false,
    labels: {},
    createdAt: at(0),
    agent: null,
    drain: null,
    lastContactAt: null,
    gone: null,
    served: false,
    strikes: [],
    quarantine: null,
    ...changes,
  };
}

export function makeAttempt(job: JobId, changes: Partial<Attempt> = {}): Attempt {
  const n = changes.n ?? 1;
  return {
    id: AttemptId.parse(`a_${job}_${n}`),
    jobId: job,
    n,
    workerId: workerId('w_1'),
    offeredAt: at(1),
    startedAt: null,
    end: null,
    late: null,
    resumed: null,
    ...changes,
  };
}

export const makeEnd = (changes: Partial<AttemptEnd> = {}): AttemptEnd => ({
  at: at(9),
  outcome: 'completed',
  cause: null,
  error: null,
  charged: false,
  exitCode: null,
  signal: null,
  ...changes,
});

export const emptyPayload: JobPayload = { config: {}, dataloader: null, files: {} };

export function makeJob(order: number, changes: Partial<PendingJob> = {}): PendingJob {
  return {
    id: jobId(`j_${order}`),
    order,
    spec: {
      configName: 'inline',
      about: nothingAbout,
      requirements: {
        target: 'auto',
        gpuCount: 0,
        vramGb: 0,
        accelerator: null,
        guarded: false,
        configKeys: [],
        labels: {},
      },
      devices: null,
      maxRetries: 3,
      retryOn: [],
      onLostContact: 'continue',
      timeoutMs: null,
      requests: [],
    },
    user: 'ada',
    team: null,
    rank: { priority: 10, boosts: 0, boostAt: null, top: 0, level: 10, turn: order },
    approval: null,
    retryOf: null,
    retryRoot: null,
    dependencies: null,
    queuedAt: at(0),
    retriesUsed: 0,
    progress: null,
    attempt: null,
    status: 'pending',
    notBefore: 0,
    ...changes,
  };
}

export const withPriority = (order: number, priority: number): PendingJob =>
  makeJob(order, { rank: { ...makeJob(order).rank, priority, level: priority } });

// The fields of a job that do not depend on its status.
const baseOf = (job: Job) => {
  const { id, order, spec, user, team, rank, approval, retryOf, retryRoot, dependencies } = job;
  const { queuedAt, retriesUsed, progress } = job;
  const origin = { retryOf, retryRoot, dependencies, queuedAt };
  return { id, order, spec, user, team, rank, approval, ...origin, retriesUsed, progress };
};

export function asLive(job: Job, status: LiveStatus, attempt: Partial<Attempt> = {}): LiveJob {
  const base = {
    ...baseOf(job),
    attempt: { ...(job.attempt ?? makeAttempt(job.id)), ...attempt },
  };
  return status === 'cancelling'
    ? { ...base, status, stop: { why: 'cancel', since: at(8) } }
    : { ...base, status };
}

export function asEnded(job: Job, status: FinalStatus, changes: Partial<EndedJob> = {}): EndedJob {
  const attempt = job.attempt && { ...job.attempt, end: makeEnd({ outcome: status }) };
  return {
    ...baseOf(job),
    attempt,
    status,
    endedAt: at(9),
    cause: null,
    error: null,
    ...changes,
  };
}

export function asRequeued(job: LiveJob, changes: Partial<PendingJob> = {}): PendingJob {
  const end = makeEnd({ outcome: 'requeued', cause: 'worker_lost' });
  return {
    ...baseOf(job),
    attempt: { ...job.attempt, end },
    status: 'pending',
    notBefore: at(30),
    ...changes,
  };
}

// Stores a job, and then replaces it by each of these states in turn.
export async function put(store: Store, first: PendingJob, ...steps: readonly Job[]): Promise<void> {
  await store.write(tx => {
    tx.insertJob(first, emptyPayload);
    let current: Job = first;
    for (const next of steps) {
      if (!tx.replaceJob(current, next))
        throw new Error(`${current.status} was not replaced by ${next.status}`);
      current = next;
    }
  });
}

export const putWorkers = (store: Store, ...ids: readonly string[]): Promise<void> =>
  store.write(tx => {
    for (const id of ids) tx.insertWorker(makeWorker({ id: workerId(id) }), `hash-of-${id}`);
  });

// Stores a job that was cancelled at this time.
export async function putEnded(store: Store, order: number, endedAt: number, more: Partial<PendingJob> = {}) {
  const job = makeJob(order, more);
  await put(store, job, asEnded(job, 'cancelled', { endedAt }));
}
