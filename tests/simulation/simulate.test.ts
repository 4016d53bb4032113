/** The simulation runs in a separate process, because it loads the product's modules with changes. */
import { describe, expect, test } from 'vitest';
import { sourcesWith } from './loading/install.ts';
import { plants } from './loading/plants.ts';
import { poolPlants } from './loading/pool-plants.ts';
import { expectFound, hashIn, simulate } from './start.ts';

/** Ten seeds must reach more than this many of the 126 rows in the state tables. `npm run simulate` must reach all rows. */
const minRowsReached = 55;

test('passes every check in 10 simulated fleets', async () => {
  const { code, output } = await simulate('--seeds', '10');
  expect(output).toContain('10 seeds from 1: all checks passed');
  expect(code).toBe(0);
  expect(Number(/(\d+) of \d+ rows/.exec(output)?.[1])).toBeGreaterThan(minRowsReached);
});

describe('seeds', () => {
  test('produces the same trace in each run of the same seed', async () => {
    const [first, second] = await Promise.all([
      simulate('--seed', '66', '--trace'),
      simulate('--seed', '66', '--trace'),
    ]);
    expect(hashIn(first.output)).toBeDefined();
    expect(second.output.split('\n').filter(isReproducible)).toEqual(
      first.output.split('\n').filter(isReproducible),
    );
  });

  test('reports whether the trace of a seed matches the hash of an earlier run', async () => {
    const hash = hashIn((await simulate('--seed', '3')).output)?.slice(0, 16) ?? '';
    expect((await simulate('--seed', '3', '--hash', hash)).output).toContain(
      'The trace matches the earlier run.',
    );
    expect((await simulate('--seed', '4', '--hash', hash)).output).toContain(
      `The trace differs from ${hash}`,
    );
  });
});

/** Returns false for the line with the CPU time, which differs in each run. */
const isReproducible = (line: string): boolean => !line.includes('CPU time');

describe('planted bugs', () => {
  test('finds the planted bug that sends an offer before it is on disk', () =>
    expectFound('an offer is sent before it is on disk', 'no command is sent before the commit'));

  test('lists all planted bugs, and finds the text of each exactly once in the source', async () => {
    const all = [...plants, ...poolPlants];
    for (const plant of all) expect(sourcesWith(plant).size).toBeGreaterThan(0);
    const { output } = await simulate('--plants');
    expect(output.trim().split('\n')).toEqual(all.map(({ name }) => name));
  });

  test('refuses a planted bug whose text does not occur exactly once in the source', () => {
    const [
      {
        name,
        changes: [change],
      } = { name: '', changes: [] },
    ] = plants;
    if (change === undefined) throw new Error('plants is empty');
    const plantWithMissingText = { name, changes: [{ ...change, text: 'this text does not exist' }] };
    expect(() => sourcesWith(plantWithMissingText)).toThrow('finds it 0 times');
    const plantWithRepeatedText = { name, changes: [{ ...change, text: 'const' }] };
    expect(() => sourcesWith(plantWithRepeatedText)).toThrow(/finds it [1-9]\d* times/);
  });
});

describe('pools', () => {
  test('passes every check in a simulated fleet with pools and 40 jobs', async () => {
    const { code, output } = await simulate('--pools', '--seeds', '1');
    expect(output).toContain(' of pools from 1: all checks passed');
    expect(code).toBe(0);
  });

  test('finds the planted bug that repeats an unanswered order immediately', async () => {
    const { code, output } = await simulate('--plant', 'an order without an answer is repeated immediately');
    expect(code).toBe(1);
    expect(output).toContain('BROKEN    an unclear launch is not repeated too early');
  });
});

test.each([
  ['--seeds', 'many'],
  ['--plant', 'an unknown bug'],
  ['--speed', '9'],
])('exits with code 2 and prints the usage for the invalid options %s %s', async (...options) => {
  const { code, output } = await simulate(...options);
  expect(code).toBe(2);
  expect(output).toContain('npm run simulate -- [options]');
});
