// See docs/internals/faults.md, S23. `npm run fuzz` runs longer.
import { expect, test } from 'vitest';
import { fuzzServer } from '../../fuzz/target.ts';

test('survives random requests without an internal error or a leak', {
  timeout: 60_000,
}, async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const { requests, faults, byStatus } = await fuzzServer({ seed, requests: 1_500 });
  expect(faults, `npm run fuzz -- --seed ${seed} --requests 1500`).toEqual([]);
  expect(requests).toBe(1_500);
  // Proves that many requests were accepted. Otherwise the test would show only that invalid requests are rejected.
  expect(byStatus.get(200)).toBeGreaterThan(100);
  expect(byStatus.get(400)).toBeGreaterThan(100);
});
