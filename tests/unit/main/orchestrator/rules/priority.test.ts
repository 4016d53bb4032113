/** The order of jobs in the queue: docs/internals/semantics.md, section 7. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advance } from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job, Rank } from '../../../../../main/orchestrator/model.ts';
import { boosted, freshRank, startWaiting, toTop } from '../../../../../main/orchestrator/rules/priority.ts';
import { priorities } from '../../../../../protocol/job.ts';
import { freezeDeep, makeAttempt, makeLive, makePending, NOW } from '../builders.ts';

const hourMs = 3_600_000;

/** After it has waited for so many hours, looked at each hour, when it was due. */
const after = (hours: number, rank: Rank): Rank =>
  Array.from({ length: hours }).reduce<Rank>((so, _, n) => boosted(so, NOW + (n + 1) * hourMs), rank);

const priority = fc.integer({ min: 0, max: 50 });

describe('a job that waits', () => {
  test.each([
    [priorities.low, [0, 10, 20, 30, 40, 40, 40]],
    [priorities.normal, [10, 20, 30, 40, 40, 40]],
    [priorities.high, [20, 30, 40, 40]],
    [priorities.urgent, [30, 40, 40]],
    [priorities.critical, [40, 40]],
    [5, [5, 15, 25, 35, 40, 40]],
    [35, [35, 40, 40]],
    [39, [39, 40, 40]],
  ])('of priority %i is raised by a name an hour, up to critical', (set, levels) => {
    const rank = freezeDeep(freshRank(set, NOW));
    expect(levels.map((_, hours) => after(hours, rank).level)).toEqual(levels);
    expect(after(10, rank)).toMatchObject({ priority: set, boostAt: null });
  });

  test('of which is more than critical is never raised, and never lowered', () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 50 }), fc.nat({ max: 60 }), (set, hours) => {
        const rank = freshRank(set, NOW);
        expect(rank).toEqual({ priority: set, boosts: 0, boostAt: null, top: 0, level: set });
        expect(after(hours, rank)).toBe(rank);
      }),
    );
  });

  test('is raised once for each hour, and not a moment sooner', () => {
    const rank = freezeDeep(freshRank(priorities.normal, NOW));
    expect(boosted(rank, NOW + hourMs - 1)).toBe(rank);
    const first = boosted(rank, NOW + hourMs);
    expect(first).toEqual({ priority: 10, boosts: 1, boostAt: NOW + 2 * hourMs, top: 0, level: 20 });
    expect(boosted(first, NOW + 2 * hourMs - 1)).toBe(first);
    expect(boosted(first, NOW + 2 * hourMs)).toMatchObject({ boosts: 2, level: 30 });
  });

  test('is made up to, step by step, for hours in which nobody looked', () => {
    const late = NOW + 2.5 * hourMs;
    const first = boosted(freshRank(priorities.low, NOW), late);
    const second = boosted(first, late);
    expect([first.level, second.level]).toEqual([10, 20]);
    expect(second.boostAt).toBe(NOW + 3 * hourMs);
    expect(boosted(second, late)).toBe(second);
  });

  test('never goes down by waiting, and never past critical', () => {
    fc.assert(
      fc.property(priority, fc.nat({ max: 8 }), (set, hours) => {
        const before = after(hours, freshRank(set, NOW));
        const next = after(hours + 1, freshRank(set, NOW));
        expect(next.level).toBeGreaterThanOrEqual(before.level);
        expect(next.level).toBeLessThanOrEqual(Math.max(set, priorities.critical));
        expect(next.priority).toBe(set);
      }),
    );
  });
});

describe('the top', () => {
  test('is above every priority, however long its job has waited', () => {
    fc.assert(
      fc.property(priority, priority, fc.nat({ max: 5 }), (mine, other, hours) => {
        const first = toTop(freshRank(mine, NOW), 0);
        expect(first.level).toBeGreaterThan(after(hours, freshRank(other, NOW)).level);
        expect(after(hours, first).level).toBe(first.level);
      }),
    );
  });

  test('belongs to the one that was put there last', () => {
    const first = toTop(freshRank(50, NOW), 0);
    const second = toTop(freshRank(0, NOW), first.top);
    const again = toTop(first, second.top);
    expect([first.top, second.top, again.top]).toEqual([1, 2, 3]);
    expect(second.level).toBeGreaterThan(first.level);
    expect(again.level).toBeGreaterThan(second.level);
  });

  test('ends with the next word about the priority, and so does what waiting had brought', () => {
    const rank = toTop(after(2, freshRank(10, NOW)), 4);
    expect(rank).toMatchObject({ boosts: 2, top: 5 });
    expect(freshRank(20, NOW + hourMs)).toEqual({
      priority: 20,
      boosts: 0,
      boostAt: NOW + 2 * hourMs,
      top: 0,
      level: 20,
    });
  });

  test('stays over a wait that begins anew', () => {
    const rank = toTop(after(2, freshRank(10, NOW)), 4);
    expect(startWaiting(rank, NOW + 5 * hourMs)).toEqual({
      priority: 10,
      boosts: 0,
      boostAt: NOW + 6 * hourMs,
      top: 5,
      level: rank.level,
    });
  });
});

describe('back in the queue', () => {
  const waited = freezeDeep(after(2, freshRank(10, NOW)));
  const later = NOW + 3 * hourMs;
  const moved = (job: Job, event: Parameters<typeof advance>[1]): Job => {
    const step = advance(job, event, later);
    if (step.kind !== 'moved') throw new Error(`it is ${step.kind}`);
    return step.job;
  };

  test.each(['starting', 'running', 'recovering'] as const)('from %s a job begins to wait anew', status => {
    const job = makeLive(status, { rank: waited });
    expect(moved(job, { type: 'vanished' })).toMatchObject({
      status: 'pending',
      rank: { priority: 10, boosts: 0, level: 10, boostAt: later + hourMs },
    });
  });

  test.each(['withdraw', 'lost', 'vanished'] as const)(
    'an offer that nobody took (%s) has not ended its waiting',
    type => {
      const job = makeLive('dispatched', { rank: waited });
      expect(moved(job, { type })).toMatchObject({ status: 'pending', rank: waited });
    },
  );

  test('an offer that was to be stopped before anybody took it has not, either', () => {
    const attempt = makeAttempt({ startedAt: null });
    const job = makeLive('cancelling', { rank: waited, why: 'drain', attempt });
    expect(moved(job, { type: 'stopped' })).toMatchObject({ status: 'pending', rank: waited });
  });

  test('a run that is taken up again keeps the rank with which it was offered', () => {
    expect(moved(makePending({ rank: waited }), { type: 'back' })).toMatchObject({
      status: 'running',
      rank: waited,
    });
  });
});
