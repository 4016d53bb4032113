import type { Closed } from '../../../../protocol/reports.ts';
import type { Heartbeat } from '../../../../protocol/worker-api.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { type Actor, asWorker, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { storeTroubles, noticeTroubles } from './reconcile.ts';

/**
 * Returns the facts in a heartbeat that differ from the stored ones; null if none differs. Also remembers the known GPU
 * troubles that this heartbeat does not name.
 */
export function findChanges(core: Core, worker: Worker, beat: Heartbeat) {
  const troubles = noticeTroubles(core, worker, beat.gpu_troubles);
  const datasets = changedDatasets(core, worker, beat.datasets);
  const closed = changedClosing(core, worker, beat.closed);
  const isUnchanged = troubles === null && datasets === null && closed === undefined;
  return isUnchanged ? null : { troubles, datasets, closed };
}

/** Stores the result of `findChanges`, and records the changes. */
export function storeChanges(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  { troubles, datasets, closed }: NonNullable<ReturnType<typeof findChanges>>,
): void {
  if (troubles !== null) storeTroubles(core, tx, id, troubles);
  if (datasets !== null) storeDatasets(tx, id, datasets);
  if (closed !== undefined) storeClosing(core, tx, id, closed);
}

/**
 * Returns the reported datasets if they differ from the stored ones; null otherwise. Also null while the disk refuses
 * writes, because heartbeats must work even then.
 */
function changedDatasets(
  core: Core,
  { agent }: Worker,
  reported: Heartbeat['datasets'],
): readonly string[] | null {
  if (!reported || agent === null || !core.store.acceptsWrites()) return null;
  return reported.join() === agent.datasets?.join() ? null : reported;
}

function storeDatasets(tx: Tx, id: Worker['id'], datasets: readonly string[]): void {
  const worker = tx.worker(id);
  if (worker !== null && worker.agent !== null)
    tx.updateWorker({ ...worker, agent: { ...worker.agent, datasets } });
}

/**
 * Returns why the rig takes no jobs, or null if it takes jobs again. Returns undefined if this has not changed, and while
 * the disk refuses writes, because heartbeats must work even then.
 */
function changedClosing(
  core: Core,
  { agent }: Worker,
  reported: Heartbeat['closed'],
): Closed | null | undefined {
  if (agent === null || reported === undefined || !core.store.acceptsWrites()) return undefined;
  return JSON.stringify(reported) === JSON.stringify(agent.closed ?? null) ? undefined : reported;
}

function storeClosing(core: Core, tx: Tx, id: Worker['id'], closed: Closed | null): void {
  const worker = tx.worker(id);
  if (worker === null || worker.agent === null) return;
  tx.updateWorker({ ...worker, agent: { ...worker.agent, closed } });
  recordClosing(core, tx, id, asWorker(id), closed);
}

/** Records that a rig takes no jobs any more, or takes jobs again. */
export function recordClosing(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  actor: Actor,
  closed: Closed | null,
): void {
  const type = closed === null ? 'worker.opened' : 'worker.closed';
  recordWorkerEvent(core, tx, type, id, actor, { reason: closed?.reason ?? null });
}
