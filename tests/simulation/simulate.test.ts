/** Runs the command in a process of its own, because it loads the product's modules with changes. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { sourcesWith } from './loading/install.ts';
import { plants } from './loading/plants.ts';

const run = promisify(execFile);
const command = new URL('simulate.ts', import.meta.url).pathname;

async function simulate(
  ...options: readonly string[]
): Promise<{ readonly code: number; readonly said: string }> {
  const limits = { timeout: 90_000, maxBuffer: 64 * 1024 * 1024 };
  const [ended] = await Promise.allSettled([run(process.execPath, [command, ...options], limits)]);
  if (ended.status === 'fulfilled') return { code: 0, said: ended.value.stdout };
  const {
    code = -1,
    stdout = '',
    stderr = '',
  } = ended.reason as { code?: number; stdout?: string; stderr?: string };
  return { code, said: stdout + stderr };
}

const hashIn = (said: string): string | undefined => /leaves the trace ([0-9a-f]{64})/.exec(said)?.[1];

/** The tables have 126 rows. These seeds miss a few that `npm run simulate` reaches. */
const rowsReachedByFew = 75;

test('a few dozen worlds keep every promise', async () => {
  const { code, said } = await simulate('--seeds', '40');
  expect(said).toContain('40 seeds from 1: every promise was kept');
  expect(code).toBe(0);
  expect(Number(/(\d+) of \d+ rows/.exec(said)?.[1])).toBeGreaterThan(rowsReachedByFew);
});

describe('a seed', () => {
  test('is the same run again, line by line', async () => {
    const [first, second] = await Promise.all([
      simulate('--seed', '66', '--trace'),
      simulate('--seed', '66', '--trace'),
    ]);
    expect(hashIn(first.said)).toBeDefined();
    expect(second.said.split('\n').filter(isOfTheRun)).toEqual(first.said.split('\n').filter(isOfTheRun));
  });

  test('is compared with an earlier run of it', async () => {
    const hash = hashIn((await simulate('--seed', '3')).said)?.slice(0, 16) ?? '';
    expect((await simulate('--seed', '3', '--hash', hash)).said).toContain('It is the same run again.');
    expect((await simulate('--seed', '4', '--hash', hash)).said).toContain(`It is another run than ${hash}`);
  });
});

/** Every line except the timing, which differs between runs. */
const isOfTheRun = (line: string): boolean => !line.includes('of processor time');

describe('a planted bug', () => {
  test.each([
    ['an offer leaves before it is on disk', 'nothing leaves before it is on disk'],
    ['a registration ends the drain', 'I8 a drain lasts'],
    ['a worker that acknowledges nothing is never quarantined', 'who acknowledges nothing is quarantined'],
    ['takeover comes too early', 'no takeover before its time'],
  ])('is found: %s', async (plant, rule) => {
    const { code, said } = await simulate('--plant', plant, '--seeds', '60');
    expect(code).toBe(1);
    expect(said).toContain(`BROKEN    ${rule}`);
    const replay =
      /^replay {4}npm run simulate -- (--seed \d+) --plant "(.+)" --trace --hash ([0-9a-f]+)$/m.exec(said);
    expect(replay?.[2]).toBe(plant);
    const seed = replay?.[1]?.split(' ') ?? [];
    const again = await simulate(...seed, '--plant', plant, '--hash', replay?.[3] ?? '');
    expect(again).toMatchObject({ code: 1, said: expect.stringContaining('It is the same run again.') });
  });

  test('stands in text that is there, exactly once, and is named by the command', async () => {
    for (const plant of plants) expect(sourcesWith(plant).size).toBeGreaterThan(0);
    const { said } = await simulate('--plants');
    expect(said.trim().split('\n')).toEqual(plants.map(({ name }) => name));
  });

  test('is refused where its text is not', () => {
    const [
      {
        name,
        changes: [change],
      } = { name: '', changes: [] },
    ] = plants;
    if (change === undefined) throw new Error('there are no plants');
    const lost = { name, changes: [{ ...change, text: 'nobody has written this' }] };
    expect(() => sourcesWith(lost)).toThrow('finds it 0 times');
    const vague = { name, changes: [{ ...change, text: 'const' }] };
    expect(() => sourcesWith(vague)).toThrow(/finds it [1-9]\d* times/);
  });
});

test.each([
  ['--seeds', 'many'],
  ['--plant', 'a bug that nobody has thought of'],
  ['--speed', '9'],
])('%s %s is refused', async (...options) => {
  const { code, said } = await simulate(...options);
  expect(code).toBe(2);
  expect(said).toContain('npm run simulate -- [options]');
});
