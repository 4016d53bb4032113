import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../main/host/system.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { runTrainyard } from '../support/cli.ts';
import { startTestServer, valueOf } from '../support/server.ts';

test('deletes exactly the jobs that ended longer ago than --older-than', async () => {
  const clock = { aheadMs: 0 };
  const server = await startTestServer({
    clock: { ...systemClock, wall: () => Date.now() + clock.aheadMs },
  });
  onTestFinished(() => server.close());
  server.config('digits', { steps: 3 });
  const submitAndCancel = async () => {
    const id = await server.submit({ config_name: 'digits' });
    valueOf(await server.admin.call(queueApi.cancel, { params: { id } }));
    return id;
  };
  const run = (...args: readonly string[]) => runTrainyard([...args, '--data-dir', server.dataDir]);
  const oldJobs = [await submitAndCancel(), await submitAndCancel()];
  clock.aheadMs = 2 * 86_400_000;
  const recentJob = await submitAndCancel();
  const { code, out } = await run('queue', 'cleanup', '--older-than', '1d', '--yes');
  expect([code, out]).toEqual([0, 'Deleted  2 jobs\n']);
  for (const id of oldJobs) expect((await run('jobs', 'get', id)).code).toBe(4);
  expect((await run('jobs', 'get', recentJob)).code).toBe(0);
});
