/** After a failed sync, the server cannot know what the disk contains, so it acknowledges no further write. */
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { temporaryFolder, trainyard } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import { adminOf, openServer, postJob } from './storage-bench.ts';

const preload = fileURLToPath(new URL('../support/failing-sync.ts', import.meta.url));

test('exits with 75 after a failed sync, confirms no further write, and keeps confirmed jobs', async () => {
  const dataDir = temporaryFolder();
  const server = trainyard(['server', '--port', '0', '--data-dir', dataDir, '--json'], {
    env: { NODE_OPTIONS: `--import=${preload}` },
  });
  onTestFinished(() => server.kill('SIGKILL'));
  const [, url = ''] = await server.waitForLine(/^\{"ready":true,"url":"([^"]+)"/);
  const { token, submit } = adminOf({ url, dataDir });
  const confirmedJob = await submit({ config: {} });
  server.kill('SIGUSR2');
  await server.waitForLine(/^\{"failing":true\}/);
  const lateSubmissions = await Promise.allSettled([1, 2, 3].map(n => postJob(url, token, { n })));
  expect(lateSubmissions.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect(await server.exited).toEqual({ code: 75, signal: null });
  const events = server.lines.map(
    line => JSON.parse(line) as { readonly event?: string; readonly note?: string },
  );
  expect(events.at(-1)).toMatchObject({
    event: 'store.fatal',
    cause: expect.stringContaining('disk I/O error'),
    note: expect.stringContaining('check the disk'),
  });

  const restarted = await openServer(dataDir);
  expect(JSON.parse(restarted.lines[0] ?? '')).not.toHaveProperty('restored');
  const { entries } = valueOf(await adminOf(restarted).client.call(queueApi.list, { query: {} }));
  expect(entries.map(({ id }) => id)).toContain(confirmedJob);
  await adminOf(restarted).submit({ config: {} });
});
