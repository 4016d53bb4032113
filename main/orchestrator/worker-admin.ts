import type { NewWorker } from '../../protocol/admin-api.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../protocol/problem.ts';
import type { WorkerStatus, WorkerView } from '../../protocol/worker.ts';
import { type Core, statusOf, tellWorker } from './core.ts';
import { dispatch } from './dispatch.ts';
import type { Worker } from './model.ts';
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

const unknown = (id: string) => refuse('worker_not_found', `There is no worker ${id}`);

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
    async createWorker(wanted: NewWorker): Promise<IssuedToken> {
      const { token, hash } = core.ids.workerToken();
      const worker: Worker = {
        id: core.ids.worker(),
        name: wanted.name,
        type: wanted.worker_type,
        labels: wanted.labels,
        createdAt: core.clock.wall(),
        agent: null,
        drain: null,
        lastContactAt: null,
        gone: null,
        served: false,
      };
      await core.store.write(tx => {
        tx.insertWorker(worker, hash);
        tellWorker(core, tx, 'worker.created', worker.id);
      });
      return { workerId: worker.id, name: worker.name, persistent: worker.type === 'persistent', token };
    },

    listWorkers(status: WorkerStatus | undefined): readonly WorkerView[] {
      const views = core.store.workers().map(worker => workerView(core, core.store, worker));
      return status === undefined ? views : views.filter(view => view.status === status);
    },

    worker(id: WorkerId): Outcome<WorkerView> {
      const worker = core.store.worker(id);
      return worker === null ? unknown(id) : accept(workerView(core, core.store, worker));
    },

    /** Once this is answered, no offer to the worker is committed. */
    drainWorker: (id: WorkerId, reason: string | null, by: string) =>
      change(id, (tx, worker) => {
        if (worker.drain !== null) return;
        tx.updateWorker({ ...worker, drain: { reason, by, since: core.clock.wall() } });
        tellWorker(core, tx, 'worker.draining', id);
        release(core, tx, id);
      }),

    undrainWorker: (id: WorkerId) =>
      change(id, (tx, worker) => {
        if (worker.drain === null) return;
        tx.updateWorker({ ...worker, drain: null });
        tellWorker(core, tx, 'worker.undrained', id);
      }),

    rotateToken: (id: WorkerId) => rotateToken(core, id),
    deleteWorker: (id: WorkerId) => deleteWorker(core, id),
  };
}

/** The old token is dead and its stream closed before this is answered. */
async function rotateToken(core: Core, id: WorkerId): Promise<Outcome<IssuedToken>> {
  const { token, hash } = core.ids.workerToken();
  const worker = await core.store.write(tx => {
    const known = tx.worker(id);
    if (known === null) return null;
    tx.setTokenHash(id, hash);
    tellWorker(core, tx, 'worker.token_rotated', id);
    tx.afterCommit(() => core.presence.hangUp(id));
    return known;
  });
  if (worker === null) return unknown(id);
  return accept({ workerId: id, name: worker.name, persistent: worker.type === 'persistent', token });
}

function deleteWorker(core: Core, id: WorkerId): Promise<Outcome<{ readonly workerId: WorkerId }>> {
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
    tx.removeWorker(id);
    tellWorker(core, tx, 'worker.deleted', id);
    tx.afterCommit(() => core.presence.forget(id));
    return accept({ workerId: id });
  });
}
