/** Running jobs are not affected when the server freezes, or stops in an orderly way (docs/internals/faults.md, F6). */
import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { createClient, urlOf } from '../../protocol/client.ts';
import type { UiEvent } from '../../protocol/events.ts';
import type { JobId, WorkerId } from '../../protocol/ids.ts';
import { workerApi } from '../../protocol/worker-api.ts';
import { createFollowStream } from '../../agent/connection/command-stream.ts';
import { type Program, type ServerProgram, startWorker } from '../support/processes.ts';
import { valueOf } from '../support/server.ts';
import { type Watch, watchEvents } from '../support/watch.ts';
import { adminOf, openServer } from './storage-bench.ts';

/** A heartbeat timeout T of 4 s. Another worker takes over the job of a worker that is silent for 5.4 s. */
const shortTimeoutFlags = ['--heartbeat-timeout', '4'];
const takeoverMs = 5_400;

interface Rig {
  readonly id: WorkerId;
  readonly agent: Program;
}

/** Starts a v2 agent that prints the output of its trainer. Resolves when the worker is idle. */
async function addRig(server: ServerProgram, watch: Watch, name: string): Promise<Rig> {
  const { id, token } = await adminOf(server).createWorker({ name });
  const agent = startWorker({ url: server.url, token, args: ['--name', name, '--persistent', '--verbose'] });
  onTestFinished(() => agent.kill('SIGKILL'));
  await watch.worker(id, 'idle');
  return { id, agent };
}

async function openWatch(server: ServerProgram): Promise<Watch> {
  const watch = await watchEvents(server.url, adminOf(server).token);
  onTestFinished(() => watch.close());
  return watch;
}

const typesOf = (events: readonly UiEvent[]): readonly string[] =>
  events.flatMap(event => ('type' in event ? [event.type] : [event.kind]));

const runsOf = ({ agent }: Rig): number => agent.lines.filter(line => /^Job .* runs/.test(line)).length;

/** Submits a job of this duration without retries. Resolves when the job runs on this rig, the only idle rig. */
async function runOn(server: ServerProgram, watch: Watch, { id }: Rig, seconds: number): Promise<JobId> {
  const config = { trainer: 'selftest', seconds };
  const job = await adminOf(server).submit({ config, max_retries: 0 });
  expect(await watch.job(job, 'running')).toMatchObject({ worker_id: id });
  return job;
}

test('marks no worker offline after the server was frozen for longer than the heartbeat timeout', {
  timeout: 60_000,
}, async () => {
  const server = await openServer(undefined, shortTimeoutFlags);
  const watch = await openWatch(server);
  const first = await addRig(server, watch, 'rig-1');
  const longJob = await runOn(server, watch, first, 11);
  const second = await addRig(server, watch, 'rig-2');
  const shortJob = await runOn(server, watch, second, 6.5);

  process.kill(server.pid, 'SIGSTOP');
  // The signal takes effect slightly later, and events may still be in transit.
  const frozenFrom = Date.now() + 100;
  const stoppedAt = performance.now();
  // The trainers continue. One of them ends while the server is frozen and cannot record that.
  await second.agent.waitForLine(/self-test done/);
  expect(performance.now() - stoppedAt).toBeGreaterThan(takeoverMs);
  expect(watch.seen.filter(({ at }) => Date.parse(at) > frozenFrom)).toEqual([]);
  process.kill(server.pid, 'SIGCONT');

  expect(await watch.jobEnd(shortJob)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(await watch.jobEnd(longJob)).toMatchObject({ status: 'completed', attempt: 1 });
  expect(typesOf(watch.seen)).not.toContainEqual(
    expect.stringMatching(/^(worker\.offline|job\.(recovering|requeued)|reset)$/),
  );
  const { client } = adminOf(server);
  for (const id of [shortJob, longJob]) {
    expect(valueOf(await client.call(queueApi.get, { params: { id } })).attempts).toHaveLength(1);
  }
  expect([first, second].map(runsOf)).toEqual([1, 1]);
});

/** Registers a worker and follows its stream. The test acts as the agent of this worker. */
async function followWorkerStream(server: ServerProgram, token: string) {
  const headers = () => ({ 'x-worker-token': token });
  const client = createClient({ baseUrl: server.url, headers, timeoutMs: 10_000 });
  const body = { name: 'rig-2', protocol: 2, instance_id: 'i-2', persistent: true };
  const { worker_id } = valueOf(await client.call(workerApi.register, { body }));
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const types: string[] = [];
  const opened = Promise.withResolvers<void>();
  const end = createFollowStream(fetch)({
    url: urlOf(server.url, workerApi.stream.path, {}, { worker_id }).href,
    token: () => token,
    silenceMs: 30_000,
    onOpen: opened.resolve,
    onRefused: status => opened.reject(new Error(`the stream returned status ${status}`)),
    onCommand: ({ type }) => types.push(type),
    signal: controller.signal,
  });
  await opened.promise;
  return { types, end };
}

test('announces an orderly stop of the server to workers, and continues a running job after the restart', {
  timeout: 60_000,
}, async () => {
  const first = await openServer(undefined, shortTimeoutFlags);
  const watch = await openWatch(first);
  const rig = await addRig(first, watch, 'rig-1');
  const job = await runOn(first, watch, rig, 5);
  const { token } = await adminOf(first).createWorker({ name: 'rig-2' });
  const stream = await followWorkerStream(first, token);

  first.kill('SIGTERM');
  expect(await first.exited).toEqual({ code: 0, signal: null });
  expect(await stream.end).toBe('lost');
  expect(stream.types.filter(type => type !== 'ping')).toEqual(['stopping']);
  expect(typesOf(watch.seen)).not.toContain('worker.offline');

  const { port } = new URL(first.url);
  const second = await openServer(first.dataDir, [...shortTimeoutFlags, '--port', port]);
  const watchAfterRestart = await openWatch(second);
  // The worker reconnects before the server marks it offline, and before the job ends.
  expect(await watchAfterRestart.worker(rig.id, 'busy')).toMatchObject({ name: 'rig-1' });
  expect(await watchAfterRestart.jobEnd(job)).toMatchObject({
    status: 'completed',
    attempt: 1,
    worker_name: 'rig-1',
  });
  // Ignore rig-2: its agent has gone, so it may go offline at any time.
  const relevantEvents = watchAfterRestart.seen.filter(
    event => event.kind !== 'worker' || event.worker_id === rig.id,
  );
  expect(typesOf(relevantEvents)).not.toContainEqual(
    expect.stringMatching(/^(worker\.offline|job\.(recovering|requeued)|reset)$/),
  );
  expect(runsOf(rig)).toBe(1);
});
