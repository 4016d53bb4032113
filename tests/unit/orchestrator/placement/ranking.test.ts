import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRanking } from '../../../../main/orchestrator/placement/ranking.ts';

const newRanking = () => createRanking<string, number>((a, b) => a - b);

test('the lowest comes first, whatever the order in which they came', () => {
  const ranking = newRanking();
  for (const item of [5, 3, 9, 1, 7]) ranking.set(`k${item}`, item);
  expect([ranking.first(), ranking.size]).toEqual([1, 5]);
});

test('of none there is no first', () => {
  const ranking = newRanking();
  expect([ranking.first(), ranking.first('a'), ranking.size]).toEqual([undefined, undefined, 0]);
});

test('an exception is made for one key, and for one call', () => {
  const ranking = newRanking();
  ranking.set('a', 1);
  expect(ranking.first('a')).toBeUndefined();
  ranking.set('b', 2);
  expect([ranking.first('a'), ranking.first('b'), ranking.first()]).toEqual([2, 1, 1]);
});

test('what has a key already is replaced', () => {
  const ranking = newRanking();
  ranking.set('a', 1);
  ranking.set('b', 2);
  ranking.set('a', 3);
  expect([ranking.first(), ranking.size]).toEqual([2, 2]);
  expect([ranking.delete('b'), ranking.delete('b'), ranking.first()]).toEqual([true, false, 3]);
});

test('any script of calls leaves what a sorted list would', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('set' as const), key, fc.integer({ min: 0, max: 5_000 })) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('delete' as const), key, fc.constant(0)) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), key, (script, but) => {
      const ranking = newRanking();
      const model = new Map<string, number>();
      for (const [what, name, item] of script) {
        if (what === 'set') ranking.set(name, item);
        else expect(ranking.delete(name)).toBe(model.has(name));
        if (what === 'set') model.set(name, item);
        else model.delete(name);
        const others = [...model].filter(([other]) => other !== but).map(([, value]) => value);
        expect(ranking.size).toBe(model.size);
        expect(ranking.first()).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
        expect(ranking.first(but)).toBe(others.length === 0 ? undefined : Math.min(...others));
      }
    }),
  );
});
