import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reapAtEnd } from '../support/reaping.ts';
import { perform } from './perform.ts';
import { scenarios } from './scenarios.ts';

const quick = scenarios.filter(scenario => scenario.quick);

let reap = (): void => {};
beforeAll(() => {
  reap = reapAtEnd(`${tmpdir()}/trainyard-faults-`);
});
afterAll(() => reap());

/** Runs only the quick scenarios. The others take minutes: `npm run faults`. */
describe.concurrent('faults on real processes', () => {
  test.each(quick.map(scenario => [`${scenario.id}: ${scenario.title}`, scenario] as const))(
    '%s',
    async (_, scenario) => {
      const { failure } = await perform(scenario);
      expect(failure ?? 'held').toBe('held');
    },
  );
});
