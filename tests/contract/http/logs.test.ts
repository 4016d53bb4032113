import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { logsApi, maxChunk } from '../../../protocol/logs-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { openFolder } from '../../support/fleet-bench.ts';
import { createShipper, readLog, type Shipper, textsOf } from '../../support/log-bench.ts';
import { systemClock } from '../../../main/host/system.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let job: JobOffer;
let shipper: Shipper;
// Milliseconds by which the server's wall clock is ahead.
let skewMs = 0;
beforeEach(async () => {
  skewMs = 0;
  server = await startTestServer({ clock: { ...systemClock, wall: () => systemClock.wall() + skewMs } });
  rig = await openRig(server);
  job = await startJob(server, rig);
  shipper = createShipper(server.url, rig, job);
});
afterEach(() => server.close());

const read = (query: Parameters<typeof readLog>[2] = {}) => readLog(server, job.jobId, query);
const refusalOf = async (call: Promise<{ readonly ok: boolean }>): Promise<readonly [number, string]> => {
  const answer = (await call) as Extract<Awaited<ReturnType<Shipper['call']>>, { ok: false }>;
  if (answer.ok || answer.failure.kind !== 'problem')
    throw new Error(`no refusal: ${JSON.stringify(answer)}`);
  return [answer.failure.status, answer.failure.problem.code];
};
const readLogs = (query: object = {}) =>
  server.admin.call(logsApi.read, { params: { id: job.jobId }, query });

describe('shipping a chunk of a log', () => {
  test('appends a chunk at the end of the log, and shows its lines immediately', async () => {
    expect(await shipper.ship({ to: 8, text: 'one\ntwo\n' })).toBe(8);
    expect(await shipper.ship({ after: 8, from: 8, to: 13, text: 'three' })).toBe(13);
    const page = await read();
    expect(page).toMatchObject({
      job_id: job.jobId,
      attempt: 1,
      attempts: [1],
      total_lines: 2,
      first_line: 0,
      bytes: 13,
      is_complete: false,
      open_line: 'three',
    });
    expect(page.lines.map(({ line, text }) => [line, text])).toEqual([
      [0, 'one'],
      [1, 'two'],
    ]);
    expect(Math.abs(Date.parse(page.lines[0]?.at ?? '') - Date.now())).toBeLessThan(60_000);
    const folder = join(server.dataDir, 'logs', job.jobId, '1');
    expect(readdirSync(folder).map(name => statSync(join(folder, name)).mode & 0o777)).toEqual([
      0o600, 0o600,
    ]);
    expect(statSync(join(server.dataDir, 'logs')).mode & 0o777).toBe(0o700);
  });

  test('ignores a repeated chunk and returns the end of the log', async () => {
    const chunk = { to: 4, text: 'one\n' };
    await shipper.ship(chunk);
    await shipper.ship({ after: 4, from: 4, to: 8, text: 'two\n' });
    expect(await shipper.ship(chunk)).toBe(8);
    expect(await shipper.ship({ after: 100, from: 100, to: 104, text: 'far\n' })).toBe(8);
    expect(textsOf(await read())).toEqual(['one', 'two']);
  });

  test('appends a chunk once when several requests send it concurrently', async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) => shipper.ship({ to: 10, text: `by ${n}, all\n` })),
    );
    expect(answers).toEqual(answers.map(() => 10));
    expect((await read()).total_lines).toBe(1);
  });

  test('returns the end of the log for an empty chunk, without writing', async () => {
    expect(await shipper.ship({})).toBe(0);
    expect(await refusalOf(readLogs())).toEqual([404, 'log_not_begun']);
    await shipper.print('one\n');
    expect(await shipper.ship({})).toBe(4);
    const sizes = (): readonly number[] => {
      const folder = join(server.dataDir, 'logs', job.jobId, '1');
      return readdirSync(folder).map(name => statSync(join(folder, name)).size);
    };
    const before = sizes();
    expect(await shipper.ship({ after: 4, from: 4, to: 4 })).toBe(4);
    expect(sizes()).toEqual(before);
  });

  test('adds a note to the log when bytes before a chunk were lost', async () => {
    await shipper.ship({ to: 3, text: 'cut' });
    expect(await shipper.ship({ after: 3, from: 1_003, to: 1_008, text: 'next\n' })).toBe(1_008);
    expect((await read()).lines.map(({ text, note }) => [text, note])).toEqual([
      ['cut', undefined],
      [expect.stringMatching(/^\[trainyard\] 1000 bytes .* lost/), 'lost'],
      ['next', undefined],
    ]);
  });

  test('ends the log with the last chunk, and ignores later chunks', async () => {
    await shipper.ship({ to: 4, text: 'done', is_last: true });
    expect(await shipper.ship({ after: 4, from: 4, to: 9, text: 'more\n' })).toBe(4);
    expect(await read()).toMatchObject({
      lines: [{ text: 'done' }],
      total_lines: 1,
      open_line: null,
      is_complete: true,
    });
  });

  test('accepts chunks without text, for overwritten output and for the end of the log', async () => {
    expect(await shipper.ship({ to: 500 })).toBe(500);
    expect(await shipper.ship({ after: 500, from: 500, to: 500, is_last: true })).toBe(500);
    expect(await read()).toMatchObject({ lines: [], total_lines: 0, is_complete: true });
  });

  test('removes terminal control characters except colours from a log', async () => {
    await shipper.ship({ to: 20, text: 'a\u0000b\u0007c\u009b1m\td\u001b[31me\ud83d\r\nnext' });
    expect(textsOf(await read())).toEqual(['a\ufffdb\ufffdc\ufffd1m\td\u001b[31me\ufffd']);
  });

  test('refuses chunks of other workers, unknown attempts and unknown jobs', async () => {
    const other = await openRig(server, 'rig-2');
    const otherShipper = createShipper(server.url, other, job);
    expect(await refusalOf(otherShipper.call({ to: 4, text: 'one\n' }))).toEqual([403, 'not_your_job']);
    const unknownAttemptCall = shipper.call({ attempt_id: 'a_unknown', to: 4, text: 'one\n' });
    expect(await refusalOf(unknownAttemptCall)).toEqual([403, 'not_your_job']);
    const unknownJobShipper = createShipper(server.url, rig, {
      ...job,
      jobId: 'j_nowhere' as JobOffer['jobId'],
    });
    expect(await refusalOf(unknownJobShipper.call({ to: 4, text: 'one\n' }))).toEqual([404, 'job_not_found']);
    expect(await refusalOf(readLogs())).toEqual([404, 'log_not_begun']);
  });

  test.each([
    ['that ends before it starts', { after: 0, from: 5, to: 4 }],
    ['that starts before the end of the log', { after: 5, from: 4, to: 9 }],
    ['at a negative offset', { to: -1 }],
    ['at a fractional offset', { to: 1.5 }],
    ['that is too long', { to: maxChunk + 1, text: 'x'.repeat(maxChunk + 1) }],
    ['with an invalid attempt id', { attempt_id: '../../etc' }],
    ['with text but no bytes', { to: 0, text: 'x' }],
  ])('refuses a chunk %s', async (_, chunk) => {
    expect(await refusalOf(shipper.call(chunk as Parameters<Shipper['call']>[0]))).toEqual([
      400,
      'invalid_request',
    ]);
  });

  test.each(['failed', 'cancelled', 'completed'])('accepts chunks after the job is %s', async status => {
    await shipper.ship({ to: 4, text: 'one\n' });
    if (status === 'cancelled')
      valueOf(await server.admin.call(queueApi.cancel, { params: { id: job.jobId } }));
    await rig.report(job, status);
    await server.watch.jobEnd(job.jobId);
    expect((await read()).is_complete).toBe(false);
    await shipper.ship({ after: 4, from: 4, to: 15, text: 'ValueError\n', is_last: true });
    expect(textsOf(await read())).toEqual(['one', 'ValueError']);
  });

  test('appends chunks to the log of the attempt that they name', async () => {
    const firstRig = await openRig(server, 'rig-2');
    const firstOffer = await startJob(server, firstRig, { retry_on: ['trainer_exit'] });
    const secondRig = await openRig(server, 'rig-3');
    const firstShipper = createShipper(server.url, firstRig, firstOffer);
    await firstShipper.print('first\n');
    await firstRig.report(firstOffer, 'failed', { exit_code: 1 });
    const secondOffer = await secondRig.nextOffer();
    expect(secondOffer.jobId).toBe(firstOffer.jobId);
    await createShipper(server.url, secondRig, secondOffer).print('second\n');
    await firstShipper.print('first after all\n', true);
    expect(await readLog(server, firstOffer.jobId)).toMatchObject({
      attempt: 2,
      attempts: [1, 2],
      lines: [{ text: 'second' }],
    });
    const earlier = await readLog(server, firstOffer.jobId, { attempt: 1 });
    expect(textsOf(earlier)).toEqual(['first', 'first after all']);
  });
});

test('continues a log after a restart, and recognizes repeated chunks', async () => {
  const dataDir = openFolder();
  const first = await startTestServer({ dataDir });
  const ownRig = await openRig(first);
  const offer = await startJob(first, ownRig);
  await createShipper(first.url, ownRig, offer).print('one\ntwo\nthr');
  await first.close();
  const restarted = await startTestServer({ dataDir });
  onTestFinished(() => restarted.close());
  const { ship } = createShipper(restarted.url, ownRig, offer);
  expect(await ship({ to: 4, text: 'one\n' })).toBe(11);
  expect((await readLog(restarted, offer.jobId)).open_line).toBe('thr');
  expect(await ship({ after: 11, from: 11, to: 14, text: 'ee\n', is_last: true })).toBe(14);
  expect(textsOf(await readLog(restarted, offer.jobId))).toEqual(['one', 'two', 'three']);
});

describe('deleting jobs', () => {
  test.each(['alone', 'with a cleanup'])('deletes the logs of a job that is deleted %s', async method => {
    await shipper.print('one\n', true);
    await rig.report(job, 'completed');
    await server.watch.jobEnd(job.jobId);
    if (method === 'alone') valueOf(await server.admin.call(queueApi.remove, { params: { id: job.jobId } }));
    else {
      skewMs = 2 * 86_400_000;
      valueOf(await server.admin.call(queueApi.cleanup, { query: { days: 1 } }));
    }
    const folders = (): readonly string[] => readdirSync(join(server.dataDir, 'logs'));
    await expect.poll(folders, { timeout: 10_000 }).toEqual([]);
    expect(await refusalOf(readLogs())).toEqual([404, 'job_not_found']);
    expect(await refusalOf(shipper.call({ to: 4, text: 'one\n' }))).toEqual([404, 'job_not_found']);
  });
});
