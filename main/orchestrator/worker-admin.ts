import type { NewWorker, WorkerChange } from '../../protocol/admin-api.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { type Core, tellWorker } from './core.ts';
import { statusOf } from './standing.ts';
import { dispatch } from './dispatch.ts';
import { type Actor, system, type Worker } from './model.ts';
import type { Tx } from './ports.ts';
import { release } from './transitions.ts';
import { workerView } from './views.ts';

export interface IssuedToken {
  readonly workerId: WorkerId;
  readonly name: string;
  readonly persistent: boolean;
  /** In the clear: given once, and kept nowhere. */
  readonly token: string;
}

const issued = ({ id, name, type }: Worker, token: string): IssuedToken => ({
  workerId: id,
  name,
  persistent: type === 'persistent',
  token,
});

const unknown = (id: string) => refuse('worker_not_found', `There is no worker ${id}`);

export interface DrainWish {
  readonly reason: string | null;
  /** From now; null for none. */
  readonly deadlineMs: number | null;
}

/** What the people who own the workers ask for. */
export function createWorkerAdmin(core: Core) {
  /** One change of one worker, and the worker as it is after that. */
  const change = async (
    id: WorkerId,
    act: (tx: Tx, worker: Worker) => void,
  ): Promise<Outcome<WorkerView>> => {
    const known = await core.store.write(tx => {
      const worker = tx.worker(id);
      if (worker === null) return false;
      act(tx, worker);
      dispatch(core, tx);
      return true;
    });
    const worker = known ? core.store.worker(id) : null;
    return worker === null ? unknown(id) : accept(workerView(core, core.store, worker));
  };

  return {
    async createWorker(wanted: NewWorker, by: Actor): Promise<IssuedToken> {
      const { token, hash } = core.ids.workerToken();
      const worker = newWorker(core, wanted, false);
      await core.store.write(tx => enrol(core, tx, worker, hash, by));
      return issued(worker, token);
    },

    /**
     * The orchestrator's own machine as a worker: made when there is none, and called like its host or, if somebody
     * else is called so, nearly so; later it keeps the name that people gave it. Each call gives it a new token.
     */
    async localWorker(host: string): Promise<IssuedToken> {
      const { token, hash } = core.ids.workerToken();
      const worker = await core.store.write(tx => {
        const workers = tx.workers();
        const known = workers.find(({ local }) => local);
        if (known !== undefined) {
          replaceToken(core, tx, known.id, hash, 'now', system);
          return known;
        }
        const name = freeName(host, new Set(workers.map(each => each.name)));
        const made = newWorker(core, { name, worker_type: 'persistent', labels: {} }, true);
        enrol(core, tx, made, hash, system);
        return made;
      });
      return issued(worker, token);
    },

    worker(id: WorkerId): Outcome<WorkerView> {
      const worker = core.store.worker(id);
      return worker === null ? unknown(id) : accept(workerView(core, core.store, worker));
    },

    /** Once this is answered, no offer to the worker is committed. */
    drainWorker: (id: WorkerId, wish: DrainWish, by: Actor) =>
      change(id, (tx, worker) => {
        drain(core, tx, worker, wish, by);
        release(core, tx, id);
      }),

    /** Who waits for such labels gets the worker, if it is idle, before this is answered. */
    updateWorker: (id: WorkerId, { name, labels }: WorkerChange, by: Actor) =>
      change(id, (tx, worker) => {
        const next = { ...worker, name: name ?? worker.name, labels: labels ?? worker.labels };
        tx.updateWorker(next);
        tellWorker(core, tx, 'worker.updated', id, by, { name: next.name, labels: next.labels });
      }),

    undrainWorker: (id: WorkerId, by: Actor) =>
      change(id, (tx, worker) => {
        if (worker.drain === null) return;
        tx.updateWorker({ ...worker, drain: null });
        tx.afterCommit(() => core.deadlines.drain.delete(id));
        tellWorker(core, tx, 'worker.undrained', id, by);
      }),

    unquarantineWorker: (id: WorkerId, by: Actor) =>
      change(id, (tx, worker) => {
        if (worker.quarantine === null) return;
        tx.updateWorker({ ...worker, quarantine: null, strikes: [] });
        tellWorker(core, tx, 'worker.unquarantined', id, by);
      }),

    rotateToken: (id: WorkerId, mode: 'now' | 'after_job', by: Actor) => rotateToken(core, id, mode, by),
    deleteWorker: (id: WorkerId, by: Actor) => deleteWorker(core, id, by),
  };
}

const newWorker = (core: Core, { name, worker_type: type, labels }: NewWorker, local: boolean): Worker => ({
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

function enrol(core: Core, tx: Tx, worker: Worker, tokenHash: string, by: Actor): void {
  tx.insertWorker(worker, tokenHash);
  tx.afterCommit(() => awaitFirst(core, worker, 0));
  const { name, type, labels, local } = worker;
  tellWorker(core, tx, 'worker.created', worker.id, by, { name, type, labels, ...(local && { local }) });
}

/** Of the host's own name, `HOST-local`, `HOST-local-2`, ... the first that nobody has. */
function freeName(host: string, taken: ReadonlySet<string>): string {
  for (let n = 0; ; n += 1) {
    const name = n === 0 ? host : n === 1 ? `${host}-local` : `${host}-local-${n}`;
    if (!taken.has(name)) return name;
  }
}

/** A second drain may set another deadline, which counts from then; else it changes nothing. */
function drain(core: Core, tx: Tx, worker: Worker, { reason, deadlineMs }: DrainWish, by: Actor): void {
  const before = worker.drain;
  if (before !== null && deadlineMs === null) return;
  const author = by.type === 'admin' ? by.id : by.type;
  const said = reason ?? before?.reason ?? null;
  tx.updateWorker({
    ...worker,
    drain: { reason: said, by: author, since: core.time.now(), deadlineMs },
  });
  if (deadlineMs !== null) {
    const at = core.clock.mono() + deadlineMs;
    tx.afterCommit(() => {
      core.deadlines.drain.set(worker.id, at);
      core.lookWithin(deadlineMs);
    });
  }
  const deadlineS = deadlineMs === null ? null : deadlineMs / 1000;
  tellWorker(core, tx, 'worker.draining', worker.id, by, { reason: said, deadline_s: deadlineS });
}

/**
 * The old token is dead and its stream closed before this is answered; with `after_job` that happens when the job ends
 * which the worker has now.
 */
async function rotateToken(
  core: Core,
  id: WorkerId,
  mode: 'now' | 'after_job',
  by: Actor,
): Promise<Outcome<IssuedToken>> {
  const { token, hash } = core.ids.workerToken();
  const worker = await core.store.write(tx => {
    const known = tx.worker(id);
    if (known === null) return null;
    const keepsOld = replaceToken(core, tx, id, hash, mode, by);
    tx.startUploadGeneration(id, keepsOld);
    return known;
  });
  return worker === null ? unknown(id) : accept(issued(worker, token));
}

/** Returns whether the old token goes on to work for now. Upload tokens are not concerned. */
function replaceToken(
  core: Core,
  tx: Tx,
  id: WorkerId,
  hash: string,
  mode: 'now' | 'after_job',
  by: Actor,
): boolean {
  const keepOld = mode === 'after_job' && tx.liveJobOf(id) !== null;
  tx.setTokenHash(id, hash, keepOld);
  tx.removeJoinToken(id);
  tellWorker(core, tx, 'worker.token_rotated', id, by, { mode });
  if (!keepOld) tx.afterCommit(() => core.presence.hangUp(id));
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
    const job = tx.liveJobOf(id);
    if (job !== null)
      return inUse(`Worker ${worker.name} may still train job ${job.id}: cancel the job first`);
    removeWorker(core, tx, worker, by);
    return accept({ workerId: id });
  });
}

/** Out of every list, its tokens dead; the row stays for the history of its jobs. */
export function removeWorker(core: Core, tx: Tx, worker: Worker, by: Actor): void {
  const { id, name } = worker;
  tx.removeWorker(id);
  tx.removeJoinToken(id);
  tellWorker(core, tx, 'worker.deleted', id, by, { name });
  tx.afterCommit(() => {
    core.presence.forget(id);
    for (const deadlines of [core.deadlines.drain, core.deadlines.trial, core.deadlines.firstContact])
      deadlines.delete(id);
    core.deadlines.removal.delete(id);
  });
}

/** How long a worker that never came is waited for, and when it goes if it is an ephemeral one; `ageMs` is past. */
export function awaitFirst(core: Core, { id, type }: Worker, ageMs: number): void {
  const { firstContactMs, removalMs, takeoverMs } = core.times;
  const now = core.clock.mono();
  // The health loop looks after those alone that are in this book.
  core.presence.grant(id, now);
  core.deadlines.firstContact.set(id, now + Math.max(0, firstContactMs - ageMs));
  if (type === 'ephemeral')
    core.deadlines.removal.set(id, now + Math.max(takeoverMs, firstContactMs + removalMs - ageMs));
}
