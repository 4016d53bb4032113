import type { WorkerId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import type {
  UpdateAnswer,
  UpdateOrder,
  UpdateRefusal,
  UpdateReport,
  UpdateTime,
} from '../../../../protocol/worker-update.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { statusOf, workerIsHeld } from '../../memory/eligibility.ts';
import { type Actor, asWorker, nameOf, type ProgramUpdate, system, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import {
  isActive,
  isUnderWay,
  isUpdateAvailable,
  planUpdates,
  type UpdateAction,
  updateRefusal,
} from '../../rules/update-rules.ts';
import { updateText } from '../../rules/update-texts.ts';
import { workerView } from '../../views/worker-views.ts';
import { command } from '../command.ts';

/** A user's request to update workers. */
export interface UpdateRequest {
  /** Null for every worker that can be updated. */
  readonly workers: readonly WorkerId[] | null;
  readonly when: UpdateTime;
  /** Maximum number of workers that restart at the same time. */
  readonly atOnce: number;
}

/** Calls of users about updates of worker programs, and reports of workers about their updates. */
export function createUpdateCalls(core: Core) {
  return {
    /** Queues the updates of the chosen workers. Returns an answer for each worker. */
    async requestUpdates(wanted: UpdateRequest, by: Actor): Promise<readonly UpdateAnswer[]> {
      const request = core.ids.update();
      return command(core, tx => {
        const chosen = wanted.workers === null ? updatable(core, tx) : [...new Set(wanted.workers)];
        return chosen.map(id => requestUpdate(core, tx, id, { ...wanted, request }, by));
      });
    },

    /** Cancels an update before the worker restarts, or dismisses an update that has failed or stopped. */
    async cancelUpdate(id: WorkerId, by: Actor): Promise<Outcome<WorkerView>> {
      const refusal = await command(core, tx => {
        const worker = tx.worker(id);
        if (worker === null) return refuse('worker_not_found', `There is no worker ${id}`);
        const { update = null, name } = worker;
        if (update === null) return null;
        if (update.state === 'restarting')
          return refuse(
            'update_under_way',
            `Worker ${name} restarts with its new program: wait for the result`,
          );
        tx.updateWorker({ ...worker, update: null });
        recordWorkerEvent(core, tx, 'worker.update_stopped', id, by, { cancelled: true });
        tx.afterCommit(() => core.lookWithin(0));
        return null;
      });
      const worker = core.store.worker(id);
      if (refusal !== null) return refusal;
      return worker === null
        ? refuse('worker_not_found', `There is no worker ${id}`)
        : accept(workerView(core, core.store, worker));
    },

    /** Handles a worker's report about its update. `proceed`: whether the worker continues with the update. */
    reportUpdate: (id: WorkerId, report: UpdateReport): Promise<Outcome<{ readonly proceed: boolean }>> =>
      command(core, tx => {
        const worker = tx.worker(id);
        const update = worker?.update ?? null;
        if (worker === null || update === null || update.id !== report.id || !isActive(update))
          return accept({ proceed: false });
        if (report.state === 'failed')
          end(core, tx, worker, 'failed', report.reason ?? 'The agent gave no reason');
        else if (report.state !== update.state) {
          setState(core, tx, worker, { state: report.state });
          if (report.state === 'restarting')
            recordWorkerEvent(core, tx, 'worker.update_restarting', id, asWorker(id));
        }
        return accept({ proceed: report.state !== 'failed' });
      }),
  };
}

const updatable = (core: Core, tx: Tx): readonly WorkerId[] =>
  tx
    .workers()
    .filter(
      worker => isUpdateAvailable(worker, core.offered()) && updateRefusal(worker, core.offered()) === null,
    )
    .map(({ id }) => id);

function requestUpdate(
  core: Core,
  tx: Tx,
  id: WorkerId,
  { request, when, atOnce }: UpdateRequest & Pick<ProgramUpdate, 'request'>,
  by: Actor,
): UpdateAnswer {
  const worker = tx.worker(id);
  const offered = core.offered();
  if (worker === null)
    return { worker_id: id, name: id, accepted: false, refusal: null, detail: 'There is no such worker' };
  const answer = (refusal: UpdateRefusal | null): UpdateAnswer => ({
    worker_id: id,
    name: worker.name,
    accepted: refusal === null,
    refusal,
    detail: updateText(refusal, offered.version),
  });
  const refusal = updateRefusal(worker, offered) ?? refusalNow(core, tx, worker);
  const target = offered.programs?.find(({ name }) => name === worker.agent?.program?.name);
  if (refusal !== null || target === undefined) return answer(refusal ?? 'not_built');
  const now = core.time.now();
  tx.updateWorker({
    ...worker,
    update: {
      id: core.ids.update(),
      request,
      atOnce,
      when,
      by: nameOf(by),
      state: 'queued',
      since: now,
      startedAt: null,
      target: { version: offered.version, program: target.name, sha256: target.sha256 },
      reason: null,
    },
  });
  const details = { version: offered.version, sha256: target.sha256, when };
  recordWorkerEvent(core, tx, 'worker.update_requested', id, by, details);
  tx.afterCommit(() => core.lookWithin(0));
  return answer(null);
}

function refusalNow(core: Core, tx: Tx, worker: Worker): UpdateRefusal | null {
  if (worker.update && isUnderWay(worker.update)) return 'under_way';
  return statusOf(core, tx, worker).status === 'offline' ? 'offline' : null;
}

/** Takes the next steps of all updates. Only the health loop calls this function. */
export function advanceUpdates(core: Core, tx: Tx): void {
  const updating = tx.workers().flatMap(worker => {
    const { id, name, update = null } = worker;
    if (update === null) return [];
    // Uses the stored `gone`: after a start of the server, `statusOf` reports a silent worker as offline only after T.
    return [{ id, name, update, isBusy: workerIsHeld(tx, id), isOffline: worker.gone !== null }];
  });
  for (const action of planUpdates(updating, core.time.now())) act(core, tx, action);
}

function act(core: Core, tx: Tx, action: UpdateAction): void {
  const worker = tx.worker(action.id);
  if (!worker?.update) return;
  switch (action.kind) {
    case 'fail':
      return end(core, tx, worker, 'failed', action.reason);
    case 'stop':
      return end(core, tx, worker, 'stopped', action.reason);
    case 'wait':
      return setState(core, tx, worker, { state: 'waiting' });
    case 'start': {
      setState(core, tx, worker, { state: 'downloading', startedAt: core.time.now() });
      recordWorkerEvent(core, tx, 'worker.update_started', worker.id, system, worker.update.target);
      const order = orderIn(worker.update);
      tx.afterCommit(() => core.connections.send(worker.id, { type: 'update', ...order }));
    }
  }
}

const orderIn = ({ id, target }: ProgramUpdate): UpdateOrder => ({ id, ...target });

/** Returns the update that the worker must install now; empty for none. Each response to the worker repeats it. */
export const updateOrderFor = (worker: Worker | null): { readonly update?: UpdateOrder } =>
  worker?.update && isActive(worker.update) ? { update: orderIn(worker.update) } : {};

/**
 * Ends the update of a worker that has registered with the new program. A trial run of the program does not count. Returns
 * the updated worker.
 */
export function settleUpdate(core: Core, tx: Tx, worker: Worker): Worker {
  const { id, agent, update = null } = worker;
  const program = agent?.program ?? null;
  if (update === null || program === null || program.trial) return worker;
  // After an update failed or stopped, the owner may have updated the worker by hand.
  const wasUpdatedByHand = !isUnderWay(update) && updateRefusal(worker, core.offered()) === 'current';
  if (program.sha256 !== update.target.sha256 && !wasUpdatedByHand) return worker;
  const settled: Worker = { ...worker, update: null };
  tx.updateWorker(settled);
  recordWorkerEvent(core, tx, 'worker.update_done', id, asWorker(id), {
    version: agent?.agentVersion ?? null,
  });
  tx.afterCommit(() => core.lookWithin(0));
  return settled;
}

function end(core: Core, tx: Tx, worker: Worker, state: 'failed' | 'stopped', reason: string): void {
  setState(core, tx, worker, { state, reason });
  recordWorkerEvent(core, tx, `worker.update_${state}`, worker.id, system, { reason });
}

function setState(
  core: Core,
  tx: Tx,
  worker: Worker,
  change: Pick<ProgramUpdate, 'state'> & Partial<Pick<ProgramUpdate, 'startedAt' | 'reason'>>,
): void {
  if (!worker.update) return;
  tx.updateWorker({ ...worker, update: { ...worker.update, ...change, since: core.time.now() } });
  tx.afterCommit(() => core.lookWithin(0));
}
