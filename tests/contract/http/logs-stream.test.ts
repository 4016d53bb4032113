import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../main/host/system.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { tokensApi } from '../../../protocol/tokens-api.ts';
import { createShipper, openLogStream, readLog, type Shipper } from '../../support/log-bench.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
let count = 0;
beforeEach(async () => {
  server = await startTestServer();
});
afterEach(() => server.close());

async function startLoggedJob(
  body: Parameters<typeof startJob>[2] = {},
): Promise<{ readonly rig: Rig; readonly job: JobOffer; readonly shipper: Shipper }> {
  const rig = await openRig(server, `rig-${(count += 1)}`);
  const job = await startJob(server, rig, body);
  return { rig, job, shipper: createShipper(server.url, rig, job) };
}
const follow = async (
  ...args: Parameters<typeof openLogStream> extends [unknown, ...infer R] ? R : never
) => {
  const stream = await openLogStream(server, ...args);
  onTestFinished(() => stream.close());
  return stream;
};
const lineNumbers = (stream: Awaited<ReturnType<typeof follow>>): readonly number[] =>
  stream.lines().map(({ line }) => line);
const range = (end: number, from = 0): readonly number[] =>
  Array.from({ length: end - from }, (_, n) => from + n);

test('streams each existing and new log line once, and then the end event', async () => {
  const { job, shipper } = await startLoggedJob();
  await shipper.print('0\n1\n2\n');
  const stream = await follow(job.jobId, '?line=0');
  expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  await stream.until(() => stream.lines().length === 3);
  for (let n = 3; n < 40; n += 1) await shipper.print(`${n}\n`);
  await stream.until(() => stream.lines().length === 40);
  await shipper.print('the end', true);
  await stream.end();
  expect(stream.lines().map(({ text }) => text)).toEqual([...range(40).map(String), 'the end']);
  expect(stream.events.at(-1)).toEqual({ id: 41, event: { type: 'end', next_attempt: null } });
});

test('starts a log stream with new lines by default, and sends the unfinished line', async () => {
  const { job, shipper } = await startLoggedJob();
  await shipper.print('old\n\r10%');
  const stream = await follow(job.jobId);
  await stream.until(() => stream.events.length > 0);
  expect(stream.events).toEqual([{ id: 1, event: { type: 'lines', lines: [], open_line: '10%' } }]);
  await shipper.print('\r20%');
  await stream.until(() => stream.events.length > 1);
  expect(stream.events[1]).toEqual({ id: 1, event: { type: 'lines', lines: [], open_line: '20%' } });
  await shipper.print('\r100%\nnew\n');
  await stream.until(() => stream.lines().length === 2);
  expect(stream.lines().map(({ line, text }) => [line, text])).toEqual([
    [1, '100%'],
    [2, 'new'],
  ]);
  expect(stream.events.at(-1)?.event).toMatchObject({ open_line: null });
});

test('sends an updated progress bar only a few times per second', async () => {
  const { job, shipper } = await startLoggedJob();
  await shipper.print('0\n');
  const stream = await follow(job.jobId);
  const startedAt = performance.now();
  for (let n = 0; n < 200; n += 1) await shipper.print(`\rstep ${n}`);
  await stream.until(() => JSON.stringify(stream.events).includes('step 199'));
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(stream.events.length).toBeLessThanOrEqual(2 + 4 * seconds);
});

test('continues a log stream after Last-Event-ID, regardless of the query', async () => {
  const { job, shipper } = await startLoggedJob();
  await shipper.print(`${range(5_000).join('\n')}\n`);
  const first = await follow(job.jobId, '?line=0');
  await first.until(() => first.lines().length > 0);
  const { id = 0 } = first.events.at(-1) ?? {};
  first.close();
  expect(id).toBe(first.lines().length);
  const resumed = await follow(job.jobId, '?line=0', { 'last-event-id': String(id) });
  await shipper.print('5000\n');
  await resumed.until(() => lineNumbers(resumed).at(-1) === 5_000);
  expect(lineNumbers(resumed)).toEqual(range(5_001, id));
});

test.each(['-1', 'abc', '1e3', '9'.repeat(16), '1, 2'])(
  'refuses the Last-Event-ID "%s" for a log stream',
  async id => {
    const { job, shipper } = await startLoggedJob();
    await shipper.print('0\n');
    const { response } = await follow(job.jobId, '', { 'last-event-id': id });
    expect(response.status).toBe(400);
  },
);

test('sends every line to a slow reader of a log that is larger than the buffers of the server', async () => {
  const { job, shipper } = await startLoggedJob();
  const line = 'ä'.repeat(100);
  const stream = await follow(job.jobId, '?line=0').catch(() => null);
  expect(stream?.response.status).toBe(404);
  await shipper.print(`${range(10).join('\n')}\n`);
  const slow = await follow(job.jobId, '?line=0');
  // About 6 MB as JSON, far more than the server buffers for one reader.
  await shipper.print(
    `${range(10_000, 10)
      .map(n => `${n} ${line}`)
      .join('\n')}\n`,
  );
  // The reader reads nothing for 500 ms.
  await slow.rest(500);
  await shipper.print('last\n', true);
  await slow.end();
  expect(lineNumbers(slow)).toEqual(range(10_001));
  expect(slow.events.at(-1)?.event.type).toBe('end');
});

test('names the next attempt at the end of a log', async () => {
  const { job, shipper, rig } = await startLoggedJob({ retry_on: ['trainer_exit'] });
  await shipper.print('first\n', true);
  const second = await openRig(server, 'rig-2');
  await rig.report(job, 'failed', { exit_code: 1 });
  expect((await second.nextOffer()).jobId).toBe(job.jobId);
  const stream = await follow(job.jobId, '?attempt=1&line=0');
  await stream.end();
  expect(stream.events.at(-1)?.event).toEqual({ type: 'end', next_attempt: 2 });
});

test('ends a log stream two minutes after the attempt when the last chunk never arrives', async () => {
  let aheadMs = 0;
  const clock = { ...systemClock, wall: () => Date.now() + aheadMs };
  const laterServer = await startTestServer({ clock });
  onTestFinished(() => laterServer.close());
  const rig = await openRig(laterServer);
  const job = await startJob(laterServer, rig);
  await createShipper(laterServer.url, rig, job).print('only\n');
  await rig.report(job, 'failed', { exit_code: 1 });
  await laterServer.watch.jobEnd(job.jobId);
  const stream = await openLogStream(laterServer, job.jobId, '?line=0');
  await stream.until(() => stream.lines().length === 1);
  expect((await readLog(laterServer, job.jobId)).is_complete).toBe(false);
  aheadMs = 121_000;
  await stream.end();
  expect(stream.events.at(-1)?.event).toEqual({ type: 'end', next_attempt: null });
  expect((await readLog(laterServer, job.jobId)).is_complete).toBe(true);
});

test("ends a log stream when the job is deleted or the reader's token is revoked", async () => {
  const { job, shipper, rig } = await startLoggedJob();
  await shipper.print('0\n');
  const tokenView = valueOf(
    await server.admin.call(tokensApi.create, { body: { name: 'ada', permissions: ['queue.view'] } }),
  );
  const adasStream = await openLogStream(
    { url: server.url, adminToken: tokenView.token },
    job.jobId,
    '?line=0',
  );
  await adasStream.until(() => adasStream.lines().length === 1);
  valueOf(await server.admin.call(tokensApi.revoke, { params: { id: tokenView.id } }));
  await adasStream.end();
  const stream = await follow(job.jobId, '?line=0');
  await stream.until(() => stream.lines().length === 1);
  await rig.report(job, 'completed');
  await server.watch.jobEnd(job.jobId);
  valueOf(await server.admin.call(queueApi.remove, { params: { id: job.jobId } }));
  await stream.end();
  expect(stream.events.every(({ event }) => event.type === 'lines')).toBe(true);
});
