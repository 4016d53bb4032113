import type { WorkerId } from '../../../protocol/ids.ts';
import type { MonoMs, QueueSettings } from '../model.ts';
import type { PendingCandidate } from '../ports/candidates.ts';
import { isWorkerLoss } from './retry.ts';

/** A blocker: why no worker may take a job. */
export type JobBlocker =
  | { readonly code: 'approval' }
  | { readonly code: 'backoff'; readonly until: MonoMs }
  | { readonly code: 'paused'; readonly by: string; readonly note: string | null }
  | {
      readonly code: 'limit';
      readonly of: 'queue' | 'user' | 'team';
      /** The name of the user or team. */
      readonly name: string | null;
      readonly running: number;
      readonly most: number;
    };

/**
 * Blockers of the job itself. A blocked job is not in the queue. Backoff after the loss of a worker applies to that
 * worker only.
 */
export function blockersOf(
  { approval, lastCause }: Pick<PendingCandidate, 'approval' | 'lastCause'>,
  readyAt: MonoMs,
  now: MonoMs,
): readonly JobBlocker[] {
  const blockers: JobBlocker[] = [];
  if (approval === 'wanted') blockers.push({ code: 'approval' });
  if (readyAt > now && !isWorkerLoss(lastCause)) blockers.push({ code: 'backoff', until: readyAt });
  return blockers;
}

/** The worker that lost the job and may not get it back yet; null for none. */
export const barredWorker = (
  { avoid, lastCause }: Pick<PendingCandidate, 'avoid' | 'lastCause'>,
  readyAt: MonoMs,
  now: MonoMs,
): WorkerId | null => (readyAt > now && isWorkerLoss(lastCause) ? avoid : null);

/** Blockers of every job, while this many jobs run. */
export function blockersOfAll(settings: QueueSettings, running: number): readonly JobBlocker[] {
  const { pause, maxRunning: most } = settings;
  const blockers: JobBlocker[] = [];
  if (pause !== null) blockers.push({ code: 'paused', by: pause.by, note: pause.note });
  if (most !== null && running >= most)
    blockers.push({ code: 'limit', of: 'queue', name: null, running, most });
  return blockers;
}

/** Blockers of this user's jobs, while this many of them run. */
export function blockersOfUser(
  { maxRunningPerUser: most }: QueueSettings,
  user: string,
  running: number,
): readonly JobBlocker[] {
  return most !== null && running >= most ? [{ code: 'limit', of: 'user', name: user, running, most }] : [];
}

/** Blockers of this team's jobs, while this many of them run. Jobs without a team have no limit. */
export function blockersOfTeam(
  { maxRunningPerTeam, teamLimits, fairShare }: QueueSettings,
  team: string | null,
  running: number,
): readonly JobBlocker[] {
  if (team === null || !fairShare) return [];
  const own = Object.hasOwn(teamLimits, team) ? teamLimits[team] : undefined;
  const most = own === undefined ? maxRunningPerTeam : own;
  return most !== null && running >= most ? [{ code: 'limit', of: 'team', name: team, running, most }] : [];
}
