/** The simulation runs in a process of its own, because it loads the product's modules with changes. */
import { describe, expect, test } from 'vitest';
import { sourcesWith } from './loading/install.ts';
import { plants } from './loading/plants.ts';
import { poolPlants } from './loading/pool-plants.ts';

const run = promisify(execFile);
const command = new URL('simulate.ts', import.meta.url).pathname;

async function simulate(
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

const hashIn = (output: string): string | undefined => /trace hash ([0-9a-f]{64})/.exec(output)?.[1];

/** The tables have 126 rows. These few seeds do not reach all of them; `npm run simulate` does. */
const rowsReachedByFew = 55;

test('passes every check in 40 simulated fleets', async () => {
  const { code, output } = await simulate('--seeds', '40');
  expect(output).toContain('40 seeds from 1: all checks passed');
  expect(code).toBe(0);
  expect(Number(/(\d+) of \d+ rows/.exec(output)?.[1])).toBeGreaterThan(rowsReachedByFew);
});

describe('seeds', () => {
  test('produces the same trace line by line for the same seed', async () => {
    const [first, second] = await Promise.all([
      simulate('--seed', '66', '--trace'),
      simulate('--seed', '66', '--trace'),
    ]);
    expect(hashIn(first.output)).toBeDefined();
    expect(second.output.split('\n').filter(isOfTheRun)).toEqual(first.output.split('\n').filter(isOfTheRun));
  });

  test('compares the trace of a seed with an earlier hash', async () => {
    const hash = hashIn((await simulate('--seed', '3')).output)?.slice(0, 16) ?? '';
    expect((await simulate('--seed', '3', '--hash', hash)).output).toContain(
      'The trace matches the earlier run.',
    );
    expect((await simulate('--seed', '4', '--hash', hash)).output).toContain(
      `The trace differs from ${hash}`,
    );
  });
});

/** Returns true for lines that are the same in each run; the CPU time differs. */
const isOfTheRun = (line: string): boolean => !line.includes('CPU time');

describe('planted bugs', () => {
  test.each([
    ['an offer is sent before it is on disk', 'no command is sent before the commit'],
    ['a registration ends the drain', 'I8 a drain lasts until it is undone'],
    [
      'a worker that acknowledges no offer is never quarantined',
      'a worker that acknowledges no offer is quarantined',
    ],
    ['the takeover happens too early', 'no early takeover'],
  ])('finds the planted bug: %s', async (plant, rule) => {
    const { code, output } = await simulate('--plant', plant, '--seeds', '60');
    expect(code).toBe(1);
    expect(output).toContain(`BROKEN    ${rule}`);
    const replay =
      /^replay {4}npm run simulate -- (--seed \d+) --plant "(.+)" --trace --hash ([0-9a-f]+)$/m.exec(output);
    expect(replay?.[2]).toBe(plant);
    const seed = replay?.[1]?.split(' ') ?? [];
    const again = await simulate(...seed, '--plant', plant, '--hash', replay?.[3] ?? '');
    expect(again).toMatchObject({
      code: 1,
      output: expect.stringContaining('The trace matches the earlier run.'),
    });
  });

  test('lists all planted bugs, and finds the text of each exactly once in the source', async () => {
    const all = [...plants, ...poolPlants];
    for (const plant of all) expect(sourcesWith(plant).size).toBeGreaterThan(0);
    const { output } = await simulate('--plants');
    expect(output.trim().split('\n')).toEqual(all.map(({ name }) => name));
  });

  test('refuses a planted bug whose text does not occur exactly once', () => {
    const [
      {
        name,
        changes: [change],
      } = { name: '', changes: [] },
    ] = plants;
    if (change === undefined) throw new Error('plants is empty');
    const lost = { name, changes: [{ ...change, text: 'this text does not exist' }] };
    expect(() => sourcesWith(lost)).toThrow('finds it 0 times');
    const vague = { name, changes: [{ ...change, text: 'const' }] };
    expect(() => sourcesWith(vague)).toThrow(/finds it [1-9]\d* times/);
  });
});

describe('pools', () => {
  test.each([
    ['4 fleets of 40 jobs', ['--seeds', '4']],
    ['a fleet of 1,000 jobs', ['--seeds', '1', '--jobs', '1000']],
  ] as const)('passes every check in %s', async (_, options) => {
    const { code, output } = await simulate('--pools', ...options);
    expect(output).toContain(' of pools from 1: all checks passed');
    expect(code).toBe(0);
  });

  test.each([
    ['an order without an answer is repeated at once', 'an unclear launch is not repeated too early'],
    ['one list without a launch ends it', 'no launch ends while it exists'],
    ['a pool has one launch more than its limit', 'no limit is exceeded'],
  ])('finds the planted bug: %s', async (plant, rule) => {
    const { code, output } = await simulate('--plant', plant);
    expect(code).toBe(1);
    expect(output).toContain(`BROKEN    ${rule}`);
  });
});

test.each([
  ['--seeds', 'many'],
  ['--plant', 'an unknown bug'],
  ['--speed', '9'],
])('exits with 2 for %s %s', async (...options) => {
  const { code, output } = await simulate(...options);
  expect(code).toBe(2);
  expect(output).toContain('npm run simulate -- [options]');
});
