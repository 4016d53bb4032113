import { priorities } from '../../../protocol/job.ts';
import type { Rank, WallMs } from '../model.ts';

/** A job is boosted by one named priority each time it has waited this long (docs/internals/semantics.md, section 7). */
const boostAfterMs = 3_600_000;
const boostBy = 10;
/** The highest level that waiting alone can reach. */
const maxBoosted = priorities.critical;
/** Above all priorities. */
const topLevel = 100;

/** The rank after a user has set the priority. It discards earlier boosts, and an earlier "move to top". */
export const freshRank = (priority: number, now: WallMs): Rank => startWaiting({ priority, top: 0 }, now);

/** The rank of a job that starts to wait: it was approved, or its attempt on a worker has ended. */
export const startWaiting = ({ priority, top }: Pick<Rank, 'priority' | 'top'>, now: WallMs): Rank =>
  withLevel({
    priority,
    top,
    boosts: 0,
    boostAt: priority < maxBoosted ? now + boostAfterMs : null,
  });

/** Moves a job before all others. `highest`: the highest `top` among them. */
export const toTop = (rank: Rank, highest: number): Rank => withLevel({ ...rank, top: highest + 1 });

/** Returns the rank with the next boost if that is due by `now`, otherwise the same object. */
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
