import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import {
  type ServerProgram,
  startProgram,
  startServer,
  startWorker,
  temporaryFolder,
} from '../support/processes.ts';
import { adminClient, createShortcuts, valueOf } from '../support/server.ts';
import { cliFile } from '../support/program-files.ts';
import { watchEvents } from '../support/watch.ts';

const adminOf = ({ url, dataDir }: ServerProgram) => {
  const token = readFileSync(join(dataDir, 'admin-token'), 'utf8').trim();
  return { token, client: adminClient(url, token) };
};

test('keeps and runs a submitted job after kill -9 and a restart of the server', async () => {
  const first = await startServer();
  onTestFinished(() => first.kill('SIGKILL'));
  mkdirSync(join(first.dataDir, 'configs'), { recursive: true });
  writeFileSync(join(first.dataDir, 'configs/test.json'), '{"trainer": "selftest", "seconds": 0.3}');
  const shortcuts = createShortcuts(adminOf(first).client);
  const worker = await shortcuts.createWorker({ name: 'rig-1' });
  const job = await shortcuts.submit({ config_name: 'test' });
  first.kill('SIGKILL');
  await first.exited;

  const second = await startServer([], first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const { client, token } = adminOf(second);
  const jobAfterCrash = valueOf(await client.call(queueApi.get, { params: { id: job } }));
  expect(jobAfterCrash).toMatchObject({ status: 'pending', config_name: 'test' });

  const watch = await watchEvents(second.url, token);
  onTestFinished(() => watch.close());
  const agent = startWorker({ url: second.url, token: worker.token, args: ['--name', 'rig-1'] });
  expect(await watch.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1, worker_name: 'rig-1' });
  // An ephemeral agent runs one job, sends a goodbye and exits.
  expect(await agent.exited).toEqual({ code: 0, signal: null });
  expect(await watch.worker(worker.id, 'offline')).toMatchObject({ status_reason: 'goodbye' });
}, 30_000);

test('resumes a running job after the server is killed, without a second attempt', async () => {
  const first = await startServer();
  onTestFinished(() => first.kill('SIGKILL'));
  const { client, token } = adminOf(first);
  const { createWorker, submit } = createShortcuts(client);
  const worker = await createWorker({ name: 'rig-1' });
  const agent = startWorker({
    url: first.url,
    token: worker.token,
    args: ['--name', 'rig-1', '--persistent'],
  });
  const watch = await watchEvents(first.url, token);
  const job = await submit({ config: { trainer: 'selftest', seconds: 4 } });
  await watch.until('progress', event =>
    event.kind === 'job' && event.type === 'job.progress' ? event : null,
  );
  first.kill('SIGKILL');
  await first.exited;

  const port = new URL(first.url).port;
  const second = await startServer(['--port', port], first.dataDir);
  onTestFinished(() => second.kill('SIGKILL'));
  const watchAfterRestart = await watchEvents(second.url, token);
  onTestFinished(() => watchAfterRestart.close());
  expect(await watchAfterRestart.jobEnd(job)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(agent.lines.filter(line => /^Job .* runs/.test(line))).toHaveLength(1);
}, 30_000);

test.runIf(process.platform !== 'win32')(
  'answers requests and stops cleanly when no program reads the log of the server',
  async () => {
    const dataDir = temporaryFolder();
    const pipe = join(dataDir, 'log');
    // The shell opens the pipe for reading and writing, so the pipe has a reader, which never reads.
    const unreadPipe = 'mkfifo "$1"; log=$1; shift; exec "$@" 2<>"$log"';
    const server = [process.execPath, cliFile, 'server', '--port', '0', '--data-dir', dataDir];
    const program = startProgram(['sh', '-c', unreadPipe, 'sh', pipe, ...server, '--json', '--log-requests']);
    onTestFinished(() => program.kill('SIGKILL'));
    const [line] = await program.waitForLine(/^\{"ready":true.*/);
    const { url } = JSON.parse(line) as { readonly url: string };
    // At about 200 bytes per line, this exceeds the capacity of a pipe.
    for (let n = 0; n < 500; n += 1) expect((await fetch(`${url}/health/live`)).status).toBe(200);
    program.kill('SIGTERM');
    expect(await program.exited).toEqual({ code: 0, signal: null });
  },
  30_000,
);
