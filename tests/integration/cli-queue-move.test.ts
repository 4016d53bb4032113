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
const submitPending = () => server.submit({ config: {}, worker_labels: { gpu: 'none' } });

test('moves a pending job before or after another one, given by id or by the start of an id', async () => {
  const [first, second, third] = [await submitPending(), await submitPending(), await submitPending()];
  const positions = async (): Promise<readonly number[]> => {
    const runs = await Promise.all(
      [first, second, third].map(id => run('jobs', 'get', id, '-o', 'position')),
    );
    return runs.map(({ out }) => Number(out));
  };
  const moveRun = await run('queue', 'move', third.slice(0, 12), '--before', first);
  expect(moveRun.out).toMatch(/^Position +1$/m);
  expect(await run('queue', 'move', first, '--after', second)).toMatchObject({ code: 0 });
  expect(await positions()).toEqual([3, 2, 1]);
  await run('jobs', 'priority', first, 'low');
  const failedRun = await run('queue', 'move', third, '--after', first);
  expect(failedRun).toMatchObject({ code: 5, out: '' });
  expect(failedRun.err).toMatch(/differ in priority/);
});

test.each([
  ['no target', []],
  ['two targets', ['--before', 'x', '--after', 'y']],
])('refuses a move with %s', async (_what, targets) => {
  const failedRun = await run('queue', 'move', 'x', ...targets);
  expect(failedRun).toMatchObject({ code: 2, out: '' });
  expect(failedRun.err).toMatch(/Specify either --before JOB or --after JOB/);
});
