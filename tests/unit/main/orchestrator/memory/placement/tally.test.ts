import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTally } from '../../../../../../main/orchestrator/memory/placement/loads.ts';

test('counts each key once for its current owner', () => {
  const tally = createTally<string>();
  expect([tally.total, tally.of('ada')]).toEqual([0, 0]);
  tally.set('j1', 'ada');
  tally.set('j1', 'ada');
  tally.set('j2', 'bob');
  expect([tally.total, tally.of('ada'), tally.of('bob')]).toEqual([2, 1, 1]);
  tally.set('j1', 'bob');
  expect([tally.total, tally.of('ada'), tally.of('bob')]).toEqual([2, 0, 2]);
  tally.set('j1', null);
  tally.set('j1', null);
  tally.set('j3', null);
  expect([tally.total, tally.of('ada'), tally.of('bob')]).toEqual([1, 0, 1]);
});

test('matches a full count after any changes', () => {
  const change = fc.tuple(fc.nat({ max: 5 }), fc.constantFrom('ada', 'bob', '__proto__', null));
  fc.assert(
    fc.property(fc.array(change), changes => {
      const tally = createTally<number>();
      const owners = new Map<number, string | null>();
      for (const [key, owner] of changes) {
        tally.set(key, owner);
        owners.set(key, owner);
      }
      const counted = [...owners.values()].filter(owner => owner !== null);
      expect(tally.total).toBe(counted.length);
      for (const owner of ['ada', 'bob', '__proto__', 'eve'])
        expect(tally.of(owner)).toBe(counted.filter(name => name === owner).length);
    }),
  );
});
