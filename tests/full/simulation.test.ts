/** More seeds and planted bugs of the simulation than `npm test` runs. */
import { describe, expect, test } from 'vitest';
import { expectFound, simulate } from '../simulation/start.ts';

const limitMs = 120_000;

/**
 * The 40 seeds must reach more than this many of the 126 rows in the state tables (tests/simulation/checks/rows.ts). Only
 * the 500 seeds of `npm run simulate` reach all rows.
 */
const minRowsReached = 75;

test('passes every check in 40 simulated fleets', { timeout: limitMs }, async () => {
  const { code, output } = await simulate('--seeds', '40');
  expect(output).toContain('40 seeds from 1: all checks passed');
  expect(code).toBe(0);
  expect(Number(/(\d+) of \d+ rows/.exec(output)?.[1])).toBeGreaterThan(minRowsReached);
});

test.each([
  ['a registration ends the drain', 'I8 a drain lasts until it is undone'],
  [
    'a worker that acknowledges no offer is never quarantined',
    'a worker that acknowledges no offer is quarantined',
  ],
  ['the takeover happens too early', 'no early takeover'],
])('finds the planted bug: %s', { timeout: limitMs }, async (plant, rule) => {
  await expectFound(plant, rule);
});

describe('pools', () => {
  test.each([
    ['4 fleets of 40 jobs', ['--seeds', '4']],
    ['a fleet of 1,000 jobs', ['--seeds', '1', '--jobs', '1000']],
  ] as const)('passes every check with pools in %s', { timeout: limitMs }, async (_, options) => {
    const { code, output } = await simulate('--pools', ...options);
    expect(output).toContain(' of pools from 1: all checks passed');
    expect(code).toBe(0);
  });

  test.each([
    ['one list without a launch ends it', 'no launch ends while it exists'],
    ['a pool has one launch more than its limit', 'no limit is exceeded'],
  ])('finds the planted bug: %s', { timeout: limitMs }, async (plant, rule) => {
    const { code, output } = await simulate('--plant', plant);
    expect(code).toBe(1);
    expect(output).toContain(`BROKEN    ${rule}`);
  });
});
