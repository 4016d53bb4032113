/** `trainyard queue move`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, type TestServer } from '../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

const run = (...args: readonly string[]) => runTrainyard([...args, '--data-dir', server.dataDir]);
const waiting = () => server.submit({ config: {}, worker_labels: { gpu: 'none' } });

test('moves a pending job before or after another one, by id or its start', async () => {
  const [first, second, third] = [await waiting(), await waiting(), await waiting()];
  const positions = async (): Promise<readonly number[]> => {
    const shown = await Promise.all(
      [first, second, third].map(id => run('jobs', 'get', id, '-o', 'position')),
    );
    return shown.map(({ out }) => Number(out));
  };
  const moved = await run('queue', 'move', third.slice(0, 12), '--before', first);
  expect(moved.out).toMatch(/^Position +1$/m);
  expect(await run('queue', 'move', first, '--after', second)).toMatchObject({ code: 0 });
  expect(await positions()).toEqual([3, 2, 1]);
  await run('jobs', 'priority', first, 'low');
  const refused = await run('queue', 'move', third, '--after', first);
  expect(refused).toMatchObject({ code: 5, out: '' });
  expect(refused.err).toMatch(/differ in priority/);
});

test.each([
  ['no target', []],
  ['two targets', ['--before', 'x', '--after', 'y']],
])('refuses a move with %s', async (_what, targets) => {
  const refused = await run('queue', 'move', 'x', ...targets);
  expect(refused).toMatchObject({ code: 2, out: '' });
  expect(refused.err).toMatch(/Specify either --before JOB or --after JOB/);
});
