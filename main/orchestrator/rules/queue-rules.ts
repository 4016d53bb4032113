import type { WorkerId } from '../../../protocol/ids.ts';
import type { MonoMs, QueueSettings, Rank, WallMs } from '../model.ts';
import { isWorkerLoss } from './failures.ts';
import type { PendingCandidate } from '../ports/jobs.ts';
import { priorities } from '../../../protocol/job.ts';

/** A blocker: why no worker may take a job. */
export type JobBlocker =
  | { readonly code: 'approval' }
  /** Jobs that have to end before this one starts. */
  | { readonly code: 'after' }
  | { readonly code: 'backoff'; readonly until: MonoMs }
  | { readonly code: 'paused'; readonly by: string; readonly note: string | null }
  | {
      readonly code: 'limit';
      readonly of: 'queue' | 'user' | 'team';
      /** The name of the user or team. */
      readonly name: string | null;
      readonly running: number;
      readonly limit: number;
    };

/** Blockers whose description needs no data about other jobs. */
export type FixedBlocker = Exclude<JobBlocker, { readonly code: 'after' }>;

/**
 * Returns the blockers of the job itself. The queue does not contain blocked jobs. Backoff after the loss of a worker is
 * no blocker, because it applies only to that worker: see `barredWorker`.
 */
export function blockersOf(
  { approval, unmet, lastCause }: Pick<PendingCandidate, 'approval' | 'unmet' | 'lastCause'>,
  readyAt: MonoMs,
  now: MonoMs,
): readonly JobBlocker[] {
  const blockers: JobBlocker[] = [];
  if (approval === 'wanted') blockers.push({ code: 'approval' });
  if (unmet > 0) blockers.push({ code: 'after' });
  if (readyAt > now && !isWorkerLoss(lastCause)) blockers.push({ code: 'backoff', until: readyAt });
  return blockers;
}

/** Returns the worker that lost the job and may not get it back before `readyAt`; null for none. */
export const barredWorker = (
  { avoid, lastCause }: Pick<PendingCandidate, 'avoid' | 'lastCause'>,
  readyAt: MonoMs,
  now: MonoMs,
): WorkerId | null => (readyAt > now && isWorkerLoss(lastCause) ? avoid : null);

/** Returns the blockers that apply to every job. `running`: the number of all running jobs. */
export function blockersOfAll(settings: QueueSettings, running: number): readonly JobBlocker[] {
  const { pause, maxRunning: limit } = settings;
  const blockers: JobBlocker[] = [];
  if (pause !== null) blockers.push({ code: 'paused', by: pause.by, note: pause.note });
  if (limit !== null && running >= limit)
    blockers.push({ code: 'limit', of: 'queue', name: null, running, limit });
  return blockers;
}

/** Returns the blockers of a user's jobs. `running`: the number of running jobs of this user. */
export function blockersOfUser(
  { maxRunningPerUser: limit }: QueueSettings,
  user: string,
  running: number,
): readonly JobBlocker[] {
  return limit !== null && running >= limit
    ? [{ code: 'limit', of: 'user', name: user, running, limit }]
    : [];
}

/** Returns the maximum number of running jobs of a team; null for no limit. */
export function teamLimitOf(
  { maxRunningPerTeam, teamLimits, fairShare }: QueueSettings,
  team: string,
): number | null {
  if (!fairShare) return null;
  const limitOfTeam = Object.hasOwn(teamLimits, team) ? teamLimits[team] : undefined;
  return limitOfTeam === undefined ? maxRunningPerTeam : limitOfTeam;
}

/** Returns the blockers of a team's jobs. `running`: the number of its running jobs. Jobs without a team have no limit. */
export function blockersOfTeam(
  settings: QueueSettings,
  team: string | null,
  running: number,
): readonly JobBlocker[] {
  const limit = team === null ? null : teamLimitOf(settings, team);
  return limit !== null && running >= limit
    ? [{ code: 'limit', of: 'team', name: team, running, limit }]
    : [];
}

/** Waiting time in ms after which a job gets its next boost (docs/internals/semantics.md, section 7). */
const boostAfterMs = 3_600_000;
/** A boost raises the level of a job by this number: by one named priority. */
const boostBy = 10;
/** The highest level that waiting alone can reach. */
const maxBoosted = priorities.critical;
/** Level of jobs at the top of the queue. It is above all priorities. */
const topLevel = 100;

/**
 * Returns the rank of a new job, or of a job whose priority a user has set: without boosts and moves. `order`: the number
 * of the submission.
 */
export const freshRank = (priority: number, order: number, now: WallMs): Rank =>
  startWaiting({ priority, top: 0, turn: order }, now);

/** Returns the rank of a job that starts to wait: it is new, it was approved, or its attempt has ended. */
export const startWaiting = (
  { priority, top, turn }: Pick<Rank, 'priority' | 'top' | 'turn'>,
  now: WallMs,
): Rank =>
  withLevel({
    priority,
    top,
    turn,
    boosts: 0,
    boostAt: priority < maxBoosted ? now + boostAfterMs : null,
  });

/** Returns the rank of a job that moves before all others. `highest`: the highest `top` of the other jobs. */
export const toTop = (rank: Rank, highest: number): Rank => withLevel({ ...rank, top: highest + 1 });

/** Returns the rank with the next boost if the boost is due, otherwise the same object. */
export function boosted(rank: Rank, now: WallMs): Rank {
  if (rank.boostAt === null || rank.boostAt > now) return rank;
  const boosts = rank.boosts + 1;
  const isHighest = rank.priority + boosts * boostBy >= maxBoosted;
  return withLevel({ ...rank, boosts, boostAt: isHighest ? null : rank.boostAt + boostAfterMs });
}

function withLevel(rank: Omit<Rank, 'level'>): Rank {
  const { priority, boosts, top } = rank;
  const raised = Math.max(priority, Math.min(maxBoosted, priority + boosts * boostBy));
  return { ...rank, level: top > 0 ? topLevel + top : raised };
}
