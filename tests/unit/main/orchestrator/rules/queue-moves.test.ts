import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  boundaryBetween,
  rankBeside,
  spreadInto,
} from '../../../../../main/orchestrator/rules/queue-moves.ts';
import { freshRank, toTop } from '../../../../../main/orchestrator/rules/queue-rules.ts';
import { NOW } from '../builders.ts';

// Jobs of the same level are ordered by their turns. A lower turn goes first.
describe('spreadInto', () => {
  test('puts a job between its neighbours without changing their turns', () => {
    expect(spreadInto({ below: [1, 0], above: [2, 3] })).toEqual({ turn: 1.5, below: [], above: [] });
  });

  test.each([
    ['after the gap', { below: [1], above: [1, 1, 2] }, { turn: 1.25, below: [], above: [1.5, 1.75] }],
    ['before the gap', { below: [1, 1, 0], above: [1] }, { turn: 0.75, below: [0.5, 0.25], above: [] }],
  ])('moves as few jobs %s as needed to make space', (_case, gap, spread) => {
    expect(spreadInto(gap)).toEqual(spread);
  });

  test('returns null when all listed turns are equal', () => {
    expect(spreadInto({ below: [1, 1], above: [1, 1] })).toBeNull();
  });

  test('keeps the order of the queue after hundreds of moves into one gap', () => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: 9 }), { minLength: 100, maxLength: 300 }), moves => {
        const turns = Array.from({ length: 10 }, (_, n) => n);
        for (const index of [...moves, ...moves.map(() => 5)]) {
          const below = [...turns.slice(0, index).toReversed(), -1];
          const above = [...turns.slice(index), turns.length + 100];
          const spread = spreadInto({ below, above });
          if (spread === null) throw new Error('there is no space between the turns');
          for (const [n, turn] of spread.below.entries()) turns[index - 1 - n] = turn;
          for (const [n, turn] of spread.above.entries()) turns[index + n] = turn;
          turns.splice(index, 0, spread.turn);
          expect(turns.every((turn, n) => n === 0 || turn > (turns[n - 1] ?? 0))).toBe(true);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe('boundaryBetween', () => {
  const [normal, high] = [freshRank(10, 1, NOW), freshRank(20, 2, NOW)];
  const [first, second] = [toTop(normal, 1), toTop(high, 0)];

  test.each([
    ['two jobs of one priority', normal, freshRank(10, 9, NOW), null],
    ['jobs of two priorities', normal, high, 'priority'],
    ['two jobs at the top', first, second, null],
    ['a job and a job at the top', normal, first, 'target_is_top'],
    ['a job at the top and another job', first, normal, 'job_is_top'],
  ])('returns the boundary between %s', (_case, job, target, boundary) => {
    expect(boundaryBetween(job, target)).toBe(boundary);
  });

  test('ranks a job beside another job at the top', () => {
    expect(rankBeside(second, first, 3.5)).toEqual({ ...second, top: 2, level: first.level, turn: 3.5 });
  });
});
