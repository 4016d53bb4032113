import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRoster, type Listed } from '../../../../../../main/orchestrator/memory/placement/roster.ts';

const anItem = (id: string): Listed => ({ id });

test('each is found by its id until it is taken off, and nobody else is', () => {
  const roster = createRoster<Listed>();
  const [one, two] = [anItem('j_1'), anItem('j_2')];
  expect([roster.set(one), roster.set(two)]).toEqual([undefined, undefined]);
  expect([roster.get('j_1'), roster.get('j_2'), roster.get('j_3')]).toEqual([one, two, undefined]);
  expect([roster.take('j_1'), roster.take('j_1'), roster.get('j_1')]).toEqual([one, undefined, undefined]);
  expect(roster.get('j_2')).toBe(two);
});

test('of two with one id the later is there, and the earlier is told', () => {
  const roster = createRoster<Listed>();
  const [one, other] = [anItem('j_1'), anItem('j_1')];
  roster.set(one);
  expect(roster.set(other)).toBe(one);
  expect(roster.get('j_1')).toBe(other);
  expect([roster.take('j_1'), roster.take('j_1')]).toEqual([other, undefined]);
});

test('an id is any text, and the empty one', () => {
  const roster = createRoster<Listed>();
  const all = ['', 'é', '\u{1f682}', 'j'.repeat(64), '\0'].map(anItem);
  for (const item of all) roster.set(item);
  expect(all.map(({ id }) => roster.take(id))).toEqual(all);
});

test.each([
  ['the first that came', 0],
  ['every other', 2],
  ['any of them', 7_919],
])('as many come as go, %s, and all of the others stay', (_who, stride) => {
  const roster = createRoster<Listed>();
  const there = Array.from({ length: 3_000 }, (_, n) => anItem(`j_${n}`));
  for (const item of there) roster.set(item);
  for (let turn = 0; turn < 8_000; turn++) {
    const [going] = there.splice((turn * stride) % there.length, 1);
    const coming = anItem(`j_${3_000 + turn}`);
    expect(roster.take(going?.id ?? '')).toBe(going);
    expect(roster.get(going?.id ?? '')).toBeUndefined();
    there.push(coming);
    roster.set(coming);
  }
  expect(there.filter(item => roster.get(item.id) !== item)).toEqual([]);
});

test('any script of calls leaves what a map would', () => {
  const id = fc.nat({ max: 400 }).map(n => `j_${n}`);
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constant('set' as const), id) },
    { weight: 2, arbitrary: fc.tuple(fc.constant('take' as const), id) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 2_000, size: 'max' }), script => {
      const roster = createRoster<Listed>();
      const model = new Map<string, Listed>();
      for (const [what, name] of script) {
        const known = model.get(name);
        expect(roster.get(name)).toBe(known);
        const item = anItem(name);
        expect(what === 'set' ? roster.set(item) : roster.take(name)).toBe(known);
        if (what === 'set') model.set(name, item);
        else model.delete(name);
      }
      for (let n = 0; n <= 400; n++) expect(roster.get(`j_${n}`)).toBe(model.get(`j_${n}`));
    }),
    { numRuns: 50 },
  );
});
