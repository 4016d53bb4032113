import type { NewWorker, WorkerChange } from '../../../../protocol/admin-api.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { jobIdAt, statusOf, workerIsHeld } from '../../memory/eligibility.ts';
import { command } from '../command.ts';
import { type Actor, system, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { release } from '../transitions.ts';
import { workerView } from '../../views/worker-views.ts';

export interface IssuedToken {
  readonly workerId: WorkerId;
  readonly name: string;
  readonly persistent: boolean;
  /** The worker token in clear text. It is returned once and never stored. */
  readonly token: string;
}

const issued = ({ id, name, type }: Worker, token: string): IssuedToken => ({
  workerId: id,
  name,
  persistent: type === 'persistent',
  token,
});

const unknown = (id: string) => refuse('worker_not_found', `There is no worker ${id}`);

export interface DrainRequest {
  readonly reason: string | null;
  /** Milliseconds from now until a running job is stopped; null for no deadline. */
  readonly deadlineMs: number | null;
}

/** Calls of users about workers. */
export function createWorkerAdmin(core: Core) {
  /** Changes one worker, dispatches pending jobs, and returns the changed worker. */
  const change = async (
    id: WorkerId,
    act: (tx: Tx, worker: Worker) => void,
  ): Promise<Outcome<WorkerView>> => {
    await command(core, tx => {
      const worker = tx.worker(id);
      if (worker !== null) act(tx, worker);
    });
    const worker = core.store.worker(id);
    return worker === null ? unknown(id) : accept(workerView(core, core.store, worker));
  };

  return {
    async createWorker(request: NewWorker, by: Actor): Promise<IssuedToken> {
      const { token, hash } = core.ids.workerToken();
      const worker = newWorker(core, request, false);
      await core.store.write(tx => enrol(core, tx, worker, hash, by));
      return issued(worker, token);
    },

    /**
     * Issues a new token for the worker of the orchestrator's own machine, which is created if it does not exist. A new
     * worker gets the host's name, with a suffix if that name is taken.
     */
    async localWorker(host: string): Promise<IssuedToken> {
      const { token, hash } = core.ids.workerToken();
      const worker = await core.store.write(tx => {
        const workers = tx.workers();
        const existing = workers.find(({ local }) => local);
        if (existing !== undefined) {
          replaceToken(core, tx, existing.id, hash, 'now', system);
          return existing;
        }
        const name = freeName(host, new Set(workers.map(each => each.name)));
        const created = newWorker(core, { name, worker_type: 'persistent', labels: {} }, true);
        enrol(core, tx, created, hash, system);
        return created;
      });
      return issued(worker, token);
    },

    worker(id: WorkerId): Outcome<WorkerView> {
      const worker = core.store.worker(id);
      return worker === null ? unknown(id) : accept(workerView(core, core.store, worker));
    },

    /** Drains a worker. After the promise resolves, the worker gets no further offers. */
    drainWorker: (id: WorkerId, request: DrainRequest, by: Actor) =>
      change(id, (tx, worker) => {
        drain(core, tx, worker, request, by);
        release(core, tx, id);
      }),

    /** Changes the name and labels of a worker. A job that waits for the new labels is dispatched before this resolves. */
    updateWorker: (id: WorkerId, { name, labels }: WorkerChange, by: Actor) =>
      change(id, (tx, worker) => {
        const next = { ...worker, name: name ?? worker.name, labels: labels ?? worker.labels };
        tx.updateWorker(next);
        recordWorkerEvent(core, tx, 'worker.updated', id, by, { name: next.name, labels: next.labels });
      }),

    undrainWorker: (id: WorkerId, by: Actor) =>
      change(id, (tx, worker) => {
        if (worker.drain === null) return;
        tx.updateWorker({ ...worker, drain: null });
        tx.afterCommit(() => core.deadlines.drain.delete(id));
        recordWorkerEvent(core, tx, 'worker.undrained', id, by);
      }),

    unquarantineWorker: (id: WorkerId, by: Actor) =>
      change(id, (tx, worker) => {
        if (worker.quarantine === null) return;
        tx.updateWorker({ ...worker, quarantine: null, strikes: [] });
        recordWorkerEvent(core, tx, 'worker.unquarantined', id, by);
      }),

    rotateToken: (id: WorkerId, mode: 'now' | 'after_job', by: Actor) => rotateToken(core, id, mode, by),
    deleteWorker: (id: WorkerId, by: Actor) => deleteWorker(core, id, by),
  };
}

/** Returns a worker that has not registered, without storing it. */
export const newWorker = (
  core: Core,
  { name, worker_type: type, labels }: NewWorker,
  local: boolean,
): Worker => ({
  id: core.ids.worker(),
  name,
  type,
  local,
  labels,
  createdAt: core.time.now(),
  agent: null,
  drain: null,
  lastContactAt: null,
  gone: null,
  served: false,
  strikes: [],
  quarantine: null,
});

/** Stores a new worker and records its creation. */
export function enrol(core: Core, tx: Tx, worker: Worker, tokenHash: string, by: Actor): void {
  tx.insertWorker(worker, tokenHash);
  tx.afterCommit(() => awaitFirstContact(core, worker, 0));
  const { name, type, labels, local } = worker;
  recordWorkerEvent(core, tx, 'worker.created', worker.id, by, {
    name,
    type,
    labels,
    ...(local && { local }),
  });
}

/** Returns the first unused name of `HOST`, `HOST-local`, `HOST-local-2` and so on. */
function freeName(host: string, taken: ReadonlySet<string>): string {
  if (!taken.has(host)) return host;
  const local = `${host}-local`;
  let name = local;
  for (let n = 2; taken.has(name); n += 1) name = `${local}-${n}`;
  return name;
}

/** Drains a worker. If the worker is draining already, only a request with a deadline has an effect: it sets a new deadline. */
function drain(core: Core, tx: Tx, worker: Worker, { reason, deadlineMs }: DrainRequest, by: Actor): void {
  const before = worker.drain;
  if (before !== null && deadlineMs === null) return;
  const author = by.type === 'admin' ? by.id : by.type;
  const newReason = reason ?? before?.reason ?? null;
  tx.updateWorker({
    ...worker,
    drain: { reason: newReason, by: author, since: core.time.now(), deadlineMs },
  });
  if (deadlineMs !== null) {
    const at = core.clock.mono() + deadlineMs;
    tx.afterCommit(() => {
      core.deadlines.drain.set(worker.id, at);
      core.lookWithin(deadlineMs);
    });
  }
  const deadlineS = deadlineMs === null ? null : deadlineMs / 1000;
  recordWorkerEvent(core, tx, 'worker.draining', worker.id, by, {
    reason: newReason,
    deadline_s: deadlineS,
  });
}

/**
 * Issues a new worker token. Before this resolves, the old token is invalid and its stream is closed. With `after_job`, the
 * old token stays valid until the worker's current job ends.
 */
async function rotateToken(
  core: Core,
  id: WorkerId,
  mode: 'now' | 'after_job',
  by: Actor,
): Promise<Outcome<IssuedToken>> {
  const { token, hash } = core.ids.workerToken();
  const worker = await core.store.write(tx => {
    const stored = tx.worker(id);
    if (stored === null) return null;
    const keepsOld = replaceToken(core, tx, id, hash, mode, by);
    tx.startUploadGeneration(id, keepsOld);
    return stored;
  });
  return worker === null ? unknown(id) : accept(issued(worker, token));
}

/** Replaces the worker token, but no upload tokens. Returns whether the old worker token stays valid for now. */
function replaceToken(
  core: Core,
  tx: Tx,
  id: WorkerId,
  hash: string,
  mode: 'now' | 'after_job',
  by: Actor,
): boolean {
  const keepOld = mode === 'after_job' && workerIsHeld(tx, id);
  tx.setTokenHash(id, hash, keepOld);
  tx.removeJoinToken(id);
  recordWorkerEvent(core, tx, 'worker.token_rotated', id, by, { mode });
  if (!keepOld) tx.afterCommit(() => core.connections.hangUp(id));
  return keepOld;
}

function deleteWorker(
  core: Core,
  id: WorkerId,
  by: Actor,
): Promise<Outcome<{ readonly workerId: WorkerId }>> {
  const inUse = (why: string) => refuse('worker_not_offline', why);
  return core.store.write(tx => {
    const worker = tx.worker(id);
    if (worker === null) return unknown(id);
    const { status } = statusOf(core, tx, worker);
    if (worker.agent !== null && status !== 'offline') {
      return inUse(
        `Worker ${worker.name} is ${status}: stop its agent, or drain it and let it leave; then delete it`,
      );
    }
    const job = jobIdAt(tx, id);
    if (job !== null) return inUse(`Worker ${worker.name} may still train job ${job}: cancel the job first`);
    removeWorker(core, tx, worker, by);
    return accept({ workerId: id });
  });
}

/** Removes the worker from every list and invalidates its tokens. The row stays for the history of its jobs. */
export function removeWorker(core: Core, tx: Tx, worker: Worker, by: Actor): void {
  const { id, name } = worker;
  tx.removeWorker(id);
  tx.removeJoinToken(id);
  recordWorkerEvent(core, tx, 'worker.deleted', id, by, { name });
  tx.afterCommit(() => {
    core.connections.forget(id);
    const { drain: drainAt, trial, firstContact, removal } = core.deadlines;
    for (const deadlines of [drainAt, trial, firstContact, removal]) deadlines.delete(id);
  });
}

/**
 * Sets the deadlines of a worker that never registered: the end of its status `connecting` and, if it is ephemeral, its
 * removal. `ageMs`: the time since the worker was created.
 */
export function awaitFirstContact(core: Core, { id, type }: Worker, ageMs: number): void {
  const { firstContactMs, removalMs, takeoverMs } = core.times;
  const now = core.clock.mono();
  // The health loop checks only workers in the connection registry.
  core.connections.grant(id, now);
  core.deadlines.firstContact.set(id, now + Math.max(0, firstContactMs - ageMs));
  if (type === 'ephemeral')
    core.deadlines.removal.set(id, now + Math.max(takeoverMs, firstContactMs + removalMs - ageMs));
}
