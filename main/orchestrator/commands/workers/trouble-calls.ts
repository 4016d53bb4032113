import type { GpuTrouble } from '../../../../protocol/worker.ts';
import { type Core, recordWorkerEvent } from '../../core.ts';
import { planTroubles, type TroublePlan } from '../../rules/gpu-troubles.ts';
import { asWorker, type Worker } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';

/** GPU troubles that an agent reported, and those that its previous report had put in doubt. */
export interface TroubleNews {
  readonly reported: readonly GpuTrouble[];
  readonly doubted: ReadonlySet<string>;
}

/**
 * Handles the GPU troubles of a heartbeat. Returns null when there is nothing to store, which is nearly always, or when
 * the disk refuses changes: heartbeats must work even then.
 */
export function noticeTroubles(
  core: Core,
  { id, agent }: Worker,
  reported: readonly GpuTrouble[] | undefined,
): TroubleNews | null {
  if (agent === null || reported === undefined || !core.store.acceptsWrites()) return null;
  if (reported.length + agent.gpuTroubles.length === 0) return null;
  const doubted = core.connections.doubtedOf(id);
  const plan = planTroubles(agent.gpuTroubles, reported, doubted);
  core.connections.noteDoubted(id, plan.doubted);
  return plan.changes ? { reported, doubted } : null;
}

/** Stores and records the troubles in one transaction. The next dispatch evaluates this worker again. */
export function keepTroubles(core: Core, tx: Tx, id: Worker['id'], { reported, doubted }: TroubleNews): void {
  const worker = tx.worker(id);
  if (worker === null || worker.agent === null) return;
  const plan = planTroubles(worker.agent.gpuTroubles, reported, doubted);
  if (!plan.changes) return;
  tx.updateWorker({ ...worker, agent: { ...worker.agent, gpuTroubles: plan.troubles } });
  recordTroubles(core, tx, id, plan);
}

/**
 * Handles the GPU troubles of a registration. An agent that does not check its GPUs never reports the end of a trouble,
 * so all known ones end.
 */
export function introducedTroubles(
  core: Core,
  { id, agent }: Worker,
  reported: readonly GpuTrouble[] | null,
): TroublePlan {
  const known = agent?.gpuTroubles ?? [];
  if (reported === null) return { troubles: [], came: [], went: known, doubted: new Set(), changes: true };
  return planTroubles(known, reported, core.connections.doubtedOf(id));
}

export function recordTroubles(
  core: Core,
  tx: Tx,
  id: Worker['id'],
  { came, went }: Pick<TroublePlan, 'came' | 'went'>,
): void {
  if (came.length > 0)
    recordWorkerEvent(core, tx, 'worker.gpu_trouble', id, asWorker(id), { troubles: came });
  if (went.length > 0)
    recordWorkerEvent(core, tx, 'worker.gpu_trouble_over', id, asWorker(id), { troubles: went });
}
