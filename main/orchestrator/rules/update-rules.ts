import type { UpdateOrder, UpdateRefusal } from '../../../protocol/worker-update.ts';
import { compareVersions } from '../../../protocol/version.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { ProgramUpdate, WallMs, Worker } from '../model.ts';

/** The worker programs that this server distributes. */
export interface OfferedPrograms {
  readonly version: string;
  /** Null until the server has read the programs for the first time. */
  readonly programs: readonly { readonly name: UpdateOrder['program']; readonly sha256: string }[] | null;
}

const offeredFor = (worker: Worker, offered: OfferedPrograms) =>
  offered.programs?.find(({ name }) => name === worker.agent?.program?.name);

/** Returns why the server cannot update a worker's program; null when it can. */
export function updateRefusal(worker: Worker, offered: OfferedPrograms): UpdateRefusal | null {
  const { agent, local } = worker;
  if (local) return 'local';
  if (agent === null) return 'never_registered';
  if (agent.protocol === 1) return 'published_agent';
  if (compareVersions(agent.agentVersion ?? '', offered.version) === 'newer') return 'newer';
  const program = agent.program ?? null;
  if (program === null) return 'too_old';
  const target = offeredFor(worker, offered);
  if (target !== undefined && target.sha256 === program.sha256) return 'current';
  if (program.blocked !== null) return program.blocked;
  return target === undefined && offered.programs !== null ? 'not_built' : null;
}

/** Whether the server has a newer program for the worker, or a different build of the same version. */
export function isUpdateAvailable(worker: Worker, offered: OfferedPrograms): boolean {
  const { agent, local } = worker;
  if (local || agent === null || agent.protocol === 1) return false;
  const order = compareVersions(agent.agentVersion ?? '', offered.version);
  if (order === 'older') return true;
  const installed = agent.program?.sha256 ?? null;
  const target = offeredFor(worker, offered);
  return order === 'same' && installed !== null && target !== undefined && target.sha256 !== installed;
}

/** Whether the worker is installing its program. */
export const isActive = ({ state }: Pick<ProgramUpdate, 'state'>): boolean =>
  state === 'downloading' || state === 'restarting';

const isAhead = ({ state }: ProgramUpdate): boolean => state === 'queued' || state === 'waiting';

/** Whether the update has not ended. */
export const isUnderWay = (update: ProgramUpdate): boolean => isActive(update) || isAhead(update);

/** Whether a worker with this update gets no jobs. While the update is queued, the worker still gets jobs, to avoid idle time. */
export const takesNoJobs = (update: ProgramUpdate | null | undefined): boolean =>
  update !== null && update !== undefined && (update.state === 'waiting' || isActive(update));

/** Time in ms after which a started update counts as failed. A slow download takes 20 minutes. @internal */
export const updateLimitMs = 30 * 60_000;

export interface UpdatingWorker {
  readonly id: WorkerId;
  readonly name: string;
  readonly update: ProgramUpdate;
  /** Whether the worker has a job. */
  readonly isBusy: boolean;
  readonly isOffline: boolean;
}

export type UpdateAction =
  | { readonly kind: 'start' | 'wait'; readonly id: WorkerId }
  | { readonly kind: 'fail' | 'stop'; readonly id: WorkerId; readonly reason: string };

/**
 * Plans the next steps of all updates. Each request updates up to `atOnce` workers at the same time, and stops after the
 * first failure. A busy worker waits for the end of its job, and takes no other job before its update.
 */
export function planUpdates(workers: readonly UpdatingWorker[], now: WallMs): readonly UpdateAction[] {
  const requests = Map.groupBy(workers, ({ update }) => update.request);
  return [...requests.values()].flatMap(request => planRequest(request, now));
}

function planRequest(workers: readonly UpdatingWorker[], now: WallMs): readonly UpdateAction[] {
  const fails = workers.flatMap(worker => failureOf(worker, now));
  const failed = workers.find(
    ({ id, update }) => update.state === 'failed' || fails.some(fail => fail.id === id),
  );
  const ahead = workers.filter(({ update }) => isAhead(update));
  if (failed !== undefined) {
    const reason = `The update of ${failed.name} failed`;
    return [...fails, ...ahead.map(({ id }) => ({ kind: 'stop' as const, id, reason }))];
  }
  const active = workers.filter(({ update }) => isActive(update)).length;
  const isReady = ({ update, isBusy }: UpdatingWorker): boolean => update.when === 'now' || !isBusy;
  const [away, present] = [ahead.filter(each => each.isOffline), ahead.filter(each => !each.isOffline)];
  // Workers that waited for their job to end are idle now, so they start before those that still take jobs.
  const ready = present
    .filter(isReady)
    .toSorted((a, b) => Number(b.update.state === 'waiting') - Number(a.update.state === 'waiting'));
  const atOnce = Math.min(...workers.map(({ update }) => update.atOnce));
  return [
    ...away.map(({ id }) => ({
      kind: 'stop' as const,
      id,
      reason: 'The worker went offline before its turn',
    })),
    ...present
      .filter(worker => !isReady(worker) && worker.update.state === 'queued')
      .map(({ id }) => ({ kind: 'wait' as const, id })),
    ...ready.slice(0, Math.max(0, atOnce - active)).map(({ id }) => ({ kind: 'start' as const, id })),
  ];
}

function failureOf({ id, update, isOffline }: UpdatingWorker, now: WallMs) {
  if (!isActive(update)) return [];
  const fail = (reason: string) => [{ kind: 'fail' as const, id, reason }];
  if (isOffline) return fail('The worker went offline during the update');
  return now - (update.startedAt ?? now) >= updateLimitMs
    ? fail('The update took longer than 30 minutes')
    : [];
}
