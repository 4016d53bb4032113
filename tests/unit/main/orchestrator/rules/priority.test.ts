import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { advance } from '../../../../../main/orchestrator/rules/job-lifecycle.ts';
import type { Job, Rank } from '../../../../../main/orchestrator/model.ts';
import {
  boosted,
  freshRank,
  startWaiting,
  toTop,
} from '../../../../../main/orchestrator/rules/queue-rules.ts';
import { priorities } from '../../../../../protocol/job.ts';
import { freezeDeep, makeAttempt, makeLive, makePending, NOW } from '../builders.ts';

// See docs/internals/semantics.md, section 7.

const hourMs = 3_600_000;

// Returns the rank after `hours` hours of waiting, with one boost check per hour.
function after(hours: number, rank: Rank): Rank {
  let current = rank;
  for (let hour = 1; hour <= hours; hour += 1) current = boosted(current, NOW + hour * hourMs);
  return current;
}

const priority = fc.integer({ min: 0, max: 50 });

describe('boosted', () => {
  test.each([
    [priorities.low, [0, 10, 20, 30, 40, 40, 40]],
    [priorities.normal, [10, 20, 30, 40, 40, 40]],
    [priorities.high, [20, 30, 40, 40]],
    [priorities.urgent, [30, 40, 40]],
    [priorities.critical, [40, 40]],
    [5, [5, 15, 25, 35, 40, 40]],
    [35, [35, 40, 40]],
    [39, [39, 40, 40]],
  ])('boosts priority %i by one level per hour, up to critical', (initial, levels) => {
    const rank = freezeDeep(freshRank(initial, 7, NOW));
    expect(levels.map((_, hours) => after(hours, rank).level)).toEqual(levels);
    expect(after(10, rank)).toMatchObject({ priority: initial, boostAt: null });
  });

  test('neither raises nor lowers a priority above critical', () => {
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 50 }), fc.nat({ max: 60 }), (initial, hours) => {
        const rank = freshRank(initial, 7, NOW);
        expect(rank).toEqual({
          priority: initial,
          boosts: 0,
          boostAt: null,
          top: 0,
          level: initial,
          turn: 7,
        });
        expect(after(hours, rank)).toBe(rank);
      }),
    );
  });

  test('boosts a job once per hour of waiting, exactly on time', () => {
    const rank = freezeDeep(freshRank(priorities.normal, 7, NOW));
    expect(boosted(rank, NOW + hourMs - 1)).toBe(rank);
    const first = boosted(rank, NOW + hourMs);
    expect(first).toEqual({ priority: 10, boosts: 1, boostAt: NOW + 2 * hourMs, top: 0, level: 20, turn: 7 });
    expect(boosted(first, NOW + 2 * hourMs - 1)).toBe(first);
    expect(boosted(first, NOW + 2 * hourMs)).toMatchObject({ boosts: 2, level: 30 });
  });

  test('applies one missed boost per call', () => {
    const late = NOW + 2.5 * hourMs;
    const first = boosted(freshRank(priorities.low, 7, NOW), late);
    const second = boosted(first, late);
    expect([first.level, second.level]).toEqual([10, 20]);
    expect(second.boostAt).toBe(NOW + 3 * hourMs);
    expect(boosted(second, late)).toBe(second);
  });

  test('never lowers the level of a waiting job, and never raises the level above critical', () => {
    fc.assert(
      fc.property(priority, fc.nat({ max: 8 }), (initial, hours) => {
        const before = after(hours, freshRank(initial, 7, NOW));
        const next = after(hours + 1, freshRank(initial, 7, NOW));
        expect(next.level).toBeGreaterThanOrEqual(before.level);
        expect(next.level).toBeLessThanOrEqual(Math.max(initial, priorities.critical));
        expect(next.priority).toBe(initial);
      }),
    );
  });
});

describe('toTop', () => {
  test('ranks a job at the top above every boosted priority', () => {
    fc.assert(
      fc.property(priority, priority, fc.nat({ max: 5 }), (topPriority, otherPriority, hours) => {
        const first = toTop(freshRank(topPriority, 7, NOW), 0);
        expect(first.level).toBeGreaterThan(after(hours, freshRank(otherPriority, 7, NOW)).level);
        expect(after(hours, first).level).toBe(first.level);
      }),
    );
  });

  test('ranks the most recently moved job first', () => {
    const first = toTop(freshRank(50, 7, NOW), 0);
    const second = toTop(freshRank(0, 7, NOW), first.top);
    const movedAgain = toTop(first, second.top);
    expect([first.top, second.top, movedAgain.top]).toEqual([1, 2, 3]);
    expect(second.level).toBeGreaterThan(first.level);
    expect(movedAgain.level).toBeGreaterThan(second.level);
  });

  test('removes the top position and the boosts when the priority is set', () => {
    const rank = toTop(after(2, freshRank(10, 7, NOW)), 4);
    expect(rank).toMatchObject({ boosts: 2, top: 5 });
    expect(freshRank(20, 7, NOW + hourMs)).toEqual({
      priority: 20,
      boosts: 0,
      boostAt: NOW + 2 * hourMs,
      top: 0,
      level: 20,
      turn: 7,
    });
  });

  test('keeps the top position when waiting restarts', () => {
    const rank = toTop(after(2, freshRank(10, 7, NOW)), 4);
    expect(startWaiting(rank, NOW + 5 * hourMs)).toEqual({
      priority: 10,
      boosts: 0,
      boostAt: NOW + 6 * hourMs,
      top: 5,
      level: rank.level,
      turn: 7,
    });
  });
});

describe('rank of a requeued job', () => {
  const boostedRank = freezeDeep(after(2, freshRank(10, 7, NOW)));
  const later = NOW + 3 * hourMs;
  const applyEvent = (job: Job, event: Parameters<typeof advance>[1]): Job => {
    const step = advance(job, event, later);
    if (step.kind !== 'moved') throw new Error(`the event did not change the job: ${step.kind}`);
    return step.job;
  };

  test.each(['starting', 'running', 'recovering'] as const)(
    'restarts the boost period when a %s job is requeued',
    status => {
      const job = makeLive(status, { rank: boostedRank });
      expect(applyEvent(job, { type: 'vanished' })).toMatchObject({
        status: 'pending',
        rank: { priority: 10, boosts: 0, level: 10, boostAt: later + hourMs },
      });
    },
  );

  test.each(['withdraw', 'lost', 'vanished'] as const)(
    'keeps the boosts when an unclaimed offer ends (%s)',
    type => {
      const job = makeLive('dispatched', { rank: boostedRank });
      expect(applyEvent(job, { type })).toMatchObject({ status: 'pending', rank: boostedRank });
    },
  );

  test('keeps the boosts when an offer is stopped before its claim', () => {
    const attempt = makeAttempt({ startedAt: null });
    const job = makeLive('cancelling', { rank: boostedRank, why: 'drain', attempt });
    expect(applyEvent(job, { type: 'stopped' })).toMatchObject({ status: 'pending', rank: boostedRank });
  });

  test('keeps the rank when the last attempt resumes', () => {
    expect(applyEvent(makePending({ rank: boostedRank }), { type: 'back' })).toMatchObject({
      status: 'running',
      rank: boostedRank,
    });
  });
});
