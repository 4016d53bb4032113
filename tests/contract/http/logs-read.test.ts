import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { workersApi } from '../../../protocol/admin-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import { logsApi } from '../../../protocol/logs-api.ts';
import { createShipper, readLog, textsOf } from '../../support/log-bench.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let job: JobOffer;
const bars = Array.from({ length: 50 }, (_, n) => `\r${n}%|##    | loss=${n}`).join('');
const texts = [
  'Loading Grüße from disk',
  `${bars}\n`.trimEnd(),
  '\u001b[32mstep\u001b[0m 1 loss 0.5',
  ...Array.from({ length: 996 }, (_, n) => `step ${n + 2}`),
  'x'.repeat(40_000),
];
beforeAll(async () => {
  server = await startTestServer();
  rig = await openRig(server);
  job = await startJob(server, rig);
  await createShipper(server.url, rig, job).print(`${texts.join('\n')}\r\nStep: \r10%\r20%`);
});
afterAll(() => server.close());

const read = (query: Parameters<typeof readLog>[2] = {}) => readLog(server, job.jobId, query);
const search = async (query: { readonly q: string; readonly line?: number; readonly limit?: number }) =>
  valueOf(await server.admin.call(logsApi.search, { params: { id: job.jobId }, query }));
const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(`${server.url}/api/queue/${job.jobId}/logs${path}`, {
    headers: { authorization: `Bearer ${server.adminToken}`, ...headers },
  });
const codeOf = async (response: Response): Promise<readonly [number, unknown]> => [
  response.status,
  ((await response.json()) as { readonly code: unknown }).code,
];

describe('reading a log', () => {
  test('returns the last lines and the unfinished line of a log by default', async () => {
    const page = await read({ limit: 3 });
    expect(page.lines.map(({ line }) => line)).toEqual([997, 998, 999]);
    expect(page).toMatchObject({ total_lines: 1_000, open_line: '20%' });
    expect((await read()).lines).toHaveLength(200);
  });

  test('reads log lines from any line number on', async () => {
    expect(textsOf(await read({ line: 500, limit: 2 }))).toEqual(['step 499', 'step 500']);
    expect((await read({ line: 999, limit: 2_000 })).lines).toHaveLength(1);
    expect((await read({ line: 1_000 })).lines).toEqual([]);
    expect((await read({ line: 2 ** 50 })).lines).toEqual([]);
    const all = (await read({ line: 0, limit: 2_000 })).lines;
    expect(all.map(({ line }) => line)).toEqual(texts.map((_, n) => n));
  });

  test('shows the final state of progress bars in a log, and cuts long lines', async () => {
    const [first, bar, colouredLine] = textsOf(await read({ line: 0, limit: 3 }));
    expect([first, bar, colouredLine]).toEqual([texts[0], '49%|##    | loss=49', texts[2]]);
    expect((await read({ limit: 1 })).lines).toMatchObject([{ text: 'x'.repeat(16_384), is_cut: true }]);
  });

  test.each(['limit=0', 'limit=2001', 'limit=x', 'line=-1', 'line=1.5', 'line=1e99', 'attempt=0'])(
    'refuses to read a log with ?%s',
    async query => {
      expect(await codeOf(await get(`?${query}`))).toEqual([400, 'invalid_request']);
    },
  );
});

describe('searching a log', () => {
  test('finds log lines regardless of case and colours, and counts all matches', async () => {
    expect(await search({ q: 'GRÜSSE' })).toMatchObject({ total_matches: 1, matches: [{ line: 0 }] });
    expect(await search({ q: 'STEP 1 LOSS' })).toMatchObject({ total_matches: 1, matches: [{ line: 2 }] });
    const page = await search({ q: 'step 1', line: 100, limit: 2 });
    expect(page.total_matches).toBe(1 + 10 + 100);
    expect(textsOf({ lines: page.matches })).toEqual(['step 100', 'step 101']);
    expect(await search({ q: 'step 1', line: 2 ** 50 })).toMatchObject({ matches: [], total_matches: 111 });
  });

  test('finds neither overwritten text nor the unfinished line of a log', async () => {
    expect(await search({ q: 'loss=48' })).toMatchObject({ matches: [], total_matches: 0 });
    expect(await search({ q: '20%' })).toMatchObject({ total_matches: 0 });
    expect(await search({ q: 'loss=49' })).toMatchObject({ total_matches: 1 });
  });

  test.each(['', 'q=', `q=${'x'.repeat(201)}`, 'q=a&limit=0', 'q=a&limit=1001', 'q=a&line=x'])(
    'refuses to search a log with ?%s',
    async query => {
      expect(await codeOf(await get(`/search?${query}`))).toEqual([400, 'invalid_request']);
    },
  );
});

test('downloads a log as a file with the final state of progress bars', async () => {
  const answer = await get('/text');
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename=${job.jobId}-1.log`,
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  });
  const [first, , ...others] = texts;
  expect((await answer.text()).split('\n')).toEqual([first, '49%|##    | loss=49', ...others, '20%']);
});

// Starts a download and never reads it. The connection stays open until the test ends. Resolves with the status.
const openUnread = (id: string): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${server.adminToken}` };
    const outgoing = request(`${server.url}/api/queue/${id}/logs/text`, { headers, agent: false });
    outgoing.once('response', response => resolve(response.pause().statusCode));
    outgoing.once('error', reject).end();
    onTestFinished(() => void outgoing.once('error', () => {}).destroy());
  });

test('limits unread log downloads to 8 per token', async () => {
  const other = await openRig(server, 'rig-long');
  const longJob = await startJob(server, other);
  await createShipper(server.url, other, longJob).print(`${'x'.repeat(4_095)}\n`.repeat(4_000), true);
  const answers = await Promise.all(Array.from({ length: 100 }, () => openUnread(longJob.jobId)));
  expect(answers.filter(status => status === 200)).toHaveLength(8);
  expect(answers.filter(status => status === 429)).toHaveLength(92);
}, 60_000);

describe('missing logs', () => {
  const readRefusal = async (id: string, query = ''): Promise<readonly unknown[]> => {
    const calls = ['', '/stream', '/search?q=a', '/text'].map(async path => {
      const url = `${server.url}/api/queue/${id}/logs${path}`;
      const fullUrl = query === '' ? url : `${url}${path.includes('?') ? '&' : '?'}${query}`;
      const answer = await fetch(fullUrl, { headers: { authorization: `Bearer ${server.adminToken}` } });
      const { code, detail } = (await answer.json()) as { readonly code: string; readonly detail: string };
      return { status: answer.status, code, detail };
    });
    const [firstAnswer, ...otherAnswers] = await Promise.all(calls);
    expect(otherAnswers).toEqual(otherAnswers.map(() => firstAnswer));
    return [firstAnswer?.status, firstAnswer?.code, firstAnswer?.detail];
  };

  test('returns an empty page for a log that has not begun when the query has or_empty', async () => {
    const readOrEmpty = async (id: string) =>
      server.admin.call(logsApi.read, { params: { id: JobId.parse(id) }, query: { or_empty: 'true' } });
    const pendingJob = await server.submit({ config: {}, worker_labels: { no: 'such' } });
    expect(valueOf(await readOrEmpty(pendingJob))).toMatchObject({ attempts: [], total_lines: 0, lines: [] });
    const { jobId } = await startJob(server, await openRig(server, 'rig-2'));
    expect(valueOf(await readOrEmpty(jobId))).toMatchObject({ attempts: [], is_complete: false });
    expect((await readOrEmpty('j_nowhere')).ok).toBe(false);
  });

  test('explains why a job has no log yet, and whether a log will follow', async () => {
    expect(await readRefusal('j_nowhere')).toEqual([
      404,
      'job_not_found',
      expect.stringContaining('j_nowhere'),
    ]);
    const pendingJob = await server.submit({ config: {}, worker_labels: { no: 'such' } });
    expect(await readRefusal(pendingJob)).toEqual([
      404,
      'log_not_begun',
      expect.stringContaining('not been started'),
    ]);
    const silentRig = await openRig(server, 'rig-2');
    const { jobId } = await startJob(server, silentRig);
    expect(await readRefusal(jobId)).toEqual([
      404,
      'log_not_begun',
      expect.stringContaining('printed nothing yet'),
    ]);
    expect(await readRefusal(jobId, 'attempt=7')).toEqual([
      404,
      'log_not_found',
      expect.stringContaining('no attempt 7'),
    ]);
  });

  test("explains that SimpleTuner's own agent sends no log, and what to do", async () => {
    const { id, token } = await server.createWorker({ name: 'rig-v1' });
    const headers = { 'x-worker-token': token, 'content-type': 'application/json' };
    const body = '{"gpu_count": 1, "gpu_name": "A100", "gpu_vram_gb": 80, "accelerator_type": "cuda"}';
    await fetch(`${server.url}/api/workers/register`, { method: 'POST', headers, body });
    const controller = new AbortController();
    await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, { headers, signal: controller.signal });
    valueOf(await server.admin.call(workersApi.update, { params: { id }, body: { labels: { kind: 'v1' } } }));
    const jobId = await server.submit({ config: {}, worker_labels: { kind: 'v1' } });
    await server.watch.job(jobId, 'dispatched');
    expect(await readRefusal(jobId)).toEqual([
      404,
      'log_not_found',
      expect.stringMatching(/rig-v1.*own agent/),
    ]);
    controller.abort();
  });
});
