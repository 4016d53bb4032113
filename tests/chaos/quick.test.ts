import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { reapAtEnd } from '../support/reaping.ts';
import { runSeed } from './run-seed.ts';

/** These seeds draw most kinds of faults. `npm run chaos` runs other seeds. */
const seeds = [3, 50];
const minutes = 0.35;

let reap = (): void => {};
beforeAll(() => {
  reap = reapAtEnd(`${tmpdir()}/trainyard-chaos-`);
});
afterAll(() => reap());

describe('random faults', () => {
  test.each(seeds)('violates no rule under the random faults of seed %i', async seed => {
    // Allow only one retry per job, because a second retry waits half a minute.
    const { report } = await runSeed({ seed, minutes, maxRetries: 1, logs: `${tmpdir()}/chaos-logs` });
    expect(report).toBe('');
  });
});
