import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemIds } from '../../../../main/host/system.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const namesAt = (time: number, count: number, make: () => string): readonly string[] => {
  vi.setSystemTime(time);
  return Array.from({ length: count }, make);
};
const noon = Date.UTC(2026, 10, 22, 12);

const kinds = [
  ['jobs', systemIds.job, /^j_[02-9a-hjkmnp-z]{12}$/],
  ['attempts', systemIds.attempt, /^a_[02-9a-hjkmnp-z]{20}$/],
] as const;

test.each(kinds)('names of %s that are made in one second lie together, in their order', (_, make, shape) => {
  const names = namesAt(noon, 300, make);
  for (const name of names) expect(name).toMatch(shape);
  expect(new Set(names.map(name => name.slice(0, 6))).size).toBe(1);
  const places = names.map(name => name.slice(6, 9));
  // The sequence wraps around at most once. Its start is random.
  const first = places.toSorted()[0] ?? '';
  const from = places.indexOf(first);
  expect([...places.slice(from), ...places.slice(0, from)]).toEqual(places.toSorted());
  expect(new Set(places).size).toBe(300);
});

test.each(kinds)('names of %s that are made in other seconds begin with something else', (_, make) => {
  const names = Array.from({ length: 200 }, (__, n) => namesAt(noon + n * 1_000, 1, make)).flat();
  expect(new Set(names.map(name => name.slice(0, 6))).size).toBeGreaterThan(195);
});
