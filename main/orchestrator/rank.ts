import { priorities } from '../../protocol/job.ts';
import type { Rank, WallMs } from './model.ts';

/** A job that has waited for so long is raised by one name of priority; and again (docs/internals/semantics.md, section 7). */
const boostAfterMs = 3_600_000;
const boostBy = 10;
/** As high as waiting alone can bring it. */
const highestBoosted = priorities.critical;
/** Above all priorities. */
const topLevel = 100;

/** A priority was set: that counts for more than whatever was decided before. */
export const freshRank = (priority: number, now: WallMs): Rank => startWaiting({ priority, top: 0 }, now);

/** Its waiting begins: it was approved of, or has lost the worker on which it had run. */
export const startWaiting = ({ priority, top }: Pick<Rank, 'priority' | 'top'>, now: WallMs): Rank =>
  withLevel({
    priority,
    top,
    boosts: 0,
    boostAt: priority < highestBoosted ? now + boostAfterMs : null,
  });

/** Before all others: `highest` is the highest `top` among them. */
export const toTop = (rank: Rank, highest: number): Rank => withLevel({ ...rank, top: highest + 1 });

/** As it is after it has waited until now; itself when it was not to be raised yet. */
export function boosted(rank: Rank, now: WallMs): Rank {
  if (rank.boostAt === null || rank.boostAt > now) return rank;
  const boosts = rank.boosts + 1;
  const isHighest = rank.priority + boosts * boostBy >= highestBoosted;
  return withLevel({ ...rank, boosts, boostAt: isHighest ? null : rank.boostAt + boostAfterMs });
}

function withLevel(rank: Omit<Rank, 'level'>): Rank {
  const { priority, boosts, top } = rank;
  const raised = Math.max(priority, Math.min(highestBoosted, priority + boosts * boostBy));
  return { ...rank, level: top > 0 ? topLevel + top : raised };
}
