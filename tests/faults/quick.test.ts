import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reapAtEnd } from '../support/reaping.ts';
import { runScenario } from './run-scenario.ts';
import { scenarios } from './scenarios.ts';

const quickScenarios = scenarios.filter(scenario => scenario.quick);

/** Kills the processes and removes the folders that a scenario left behind. */
let reap = (): void => {};
beforeAll(() => {
  reap = reapAtEnd(`${tmpdir()}/trainyard-faults-`);
});
afterAll(() => reap());

/** Runs only the quick scenarios. `npm run faults` runs all scenarios, which takes minutes. */
describe.concurrent('faults on real processes', () => {
  test.each(quickScenarios.map(scenario => [`${scenario.id}: ${scenario.title}`, scenario] as const))(
    '%s',
    async (_, scenario) => {
      const { failure } = await runScenario(scenario);
      expect(failure ?? 'held').toBe('held');
    },
  );
});
