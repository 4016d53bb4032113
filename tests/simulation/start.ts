/** Starts the simulation in a separate process, because it loads the product's modules with changes. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const run = promisify(execFile);
const command = new URL('simulate.ts', import.meta.url).pathname;

/** Runs `npm run simulate` with these options. Returns the exit code and the output; never throws. */
export async function simulate(
  ...options: readonly string[]
): Promise<{ readonly code: number; readonly output: string }> {
  const limits = { timeout: 90_000, maxBuffer: 64 * 1024 * 1024 };
  const [ended] = await Promise.allSettled([run(process.execPath, [command, ...options], limits)]);
  if (ended.status === 'fulfilled') return { code: 0, output: ended.value.stdout };
  const {
    code = -1,
    stdout = '',
    stderr = '',
  } = ended.reason as { code?: number; stdout?: string; stderr?: string };
  return { code, output: stdout + stderr };
}

/** Returns the hash of the trace in the output; undefined when there is none. */
export const hashIn = (output: string): string | undefined => /trace hash ([0-9a-f]{64})/.exec(output)?.[1];

/** Expects that one of 60 seeds finds the planted bug by this rule, and that a replay of that seed has the same trace. */
export async function expectFound(plant: string, rule: string): Promise<void> {
  const { code, output } = await simulate('--plant', plant, '--seeds', '60');
  expect(code).toBe(1);
  expect(output).toContain(`BROKEN    ${rule}`);
  const replay =
    /^replay {4}npm run simulate -- (--seed \d+) --plant "(.+)" --trace --hash ([0-9a-f]+)$/m.exec(output);
  expect(replay?.[2]).toBe(plant);
  const seed = replay?.[1]?.split(' ') ?? [];
  const replayed = await simulate(...seed, '--plant', plant, '--hash', replay?.[3] ?? '');
  expect(replayed).toMatchObject({
    code: 1,
    output: expect.stringContaining('The trace matches the earlier run.'),
  });
}
