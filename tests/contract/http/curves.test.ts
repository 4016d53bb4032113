import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { JobId } from '../../../protocol/ids.ts';
import { metricsApi, type MetricPoint } from '../../../protocol/metrics-api.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { asJson, type RawAnswer, sendRaw } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob } from '../../support/upload-bench.ts';

let server: TestServer;
let rig: Rig;
let job: JobOffer;
beforeEach(async () => {
  server = await startTestServer();
  rig = await openRig(server);
  job = await startJob(server, rig);
});
afterEach(() => server.close());

const point = (n: number, values: MetricPoint['values'] = { loss: n }, more: object = {}) => ({
  n,
  elapsed_ms: n * 1_000,
  step: n,
  values,
  ...more,
});
const post = (body: object | string, sender: Rig = rig, id: string = job.jobId): Promise<RawAnswer> =>
  sendRaw(server.url, {
    method: 'POST',
    path: `/api/workers/job/${id}/metrics`,
    headers: [['x-worker-token', sender.token], asJson],
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const parseAnswer = ({ status, text }: RawAnswer) => [status, JSON.parse(text) as unknown] as const;
const postPoints = async (points: readonly object[], offer: JobOffer = job, sender: Rig = rig) =>
  parseAnswer(await post({ attempt_id: offer.attemptId, points }, sender, offer.jobId));
const read = async (query: Readonly<Record<string, string>> = {}, id: JobId = job.jobId) =>
  valueOf(await server.admin.call(metricsApi.read, { params: { id }, query }));
const seriesOf = async (key: string, query: Readonly<Record<string, string>> = {}) =>
  (await read({ keys: key, ...query })).attempts.flatMap(({ series }) => series.flatMap(each => each.points));

describe('the best loss of a job', () => {
  const progressOf = async () =>
    valueOf(await server.admin.call(queueApi.get, { params: { id: job.jobId } })).progress;

  test('takes the best loss from evaluation losses, or without any, from means over a tenth of the training losses', async () => {
    await postPoints(Array.from({ length: 20 }, (_, n) => point(n, { loss: n === 10 ? 0 : 20 - n })));
    expect(await progressOf()).toMatchObject({ best_loss: 1.5, best_loss_key: 'loss' });
    await postPoints([point(20, { eval_loss: 4 }), point(21, { eval_loss: 7 })]);
    expect(await progressOf()).toMatchObject({ best_loss: 4, best_loss_key: 'eval_loss' });
  });

  test('keeps the best loss after later progress reports, and updates the best loss with points after the end', async () => {
    await postPoints([point(0, { loss: 4 })]);
    await rig.report(job, 'running', { progress: { step: 1, loss: 9 } });
    await expect.poll(progressOf).toMatchObject({ loss: 9, best_loss: 4 });
    await rig.report(job, 'completed', { exit_code: 0 });
    await postPoints(Array.from({ length: 30 }, (_, n) => point(n + 1, { loss: 4 })));
    await postPoints([
      point(31, { loss: 1 }),
      point(32, { loss: 1 }),
      point(33, { loss: 1 }),
      point(34, { loss: 1 }),
    ]);
    expect(await progressOf()).toMatchObject({ loss: 9, best_loss: 1 });
    // An ended job sends no progress events, so its best loss has its own event type.
    await server.watch.until('the best loss of the ended job', event =>
      event.kind === 'job' && event.type === 'job.best_loss' && event.job?.progress?.best_loss === 1
        ? event
        : null,
    );
    const { entries } = valueOf(await server.admin.call(queueApi.list, { query: { sort: 'best_loss' } }));
    expect(entries.map(({ progress }) => progress?.best_loss)).toEqual([1]);
  });
});

describe('posting points', () => {
  test('stores each point once in order, and returns the number of the next point', async () => {
    expect(await postPoints([])).toEqual([
      200,
      { success: true, next: 0, last_step: null, last_elapsed_ms: 0 },
    ]);
    const first = [point(0), point(1, { loss: 0.5, lr: 1e-4 })];
    const after = { success: true, next: 2, last_step: 1, last_elapsed_ms: 1_000 };
    expect(await postPoints(first)).toEqual([200, after]);
    // The agent did not receive the first answer, so it sends all points again, together with a new point.
    expect(await postPoints([...first, point(5, { loss: 3 })])).toMatchObject([
      200,
      { next: 6, last_step: 5 },
    ]);
    expect(await postPoints([])).toMatchObject([200, { next: 6, last_step: 5, last_elapsed_ms: 5_000 }]);
    expect((await seriesOf('loss')).map(({ step, last }) => [step, last])).toEqual([
      [0, 0],
      [1, 0.5],
      [5, 3],
    ]);
    expect((await read()).keys).toEqual([
      { key: 'loss', value: 3, step: 5, elapsed_ms: 5_000, attempt: 1 },
      { key: 'lr', value: 1e-4, step: 1, elapsed_ms: 1_000, attempt: 1 },
    ]);
  });

  test('stores a gap for a value that is not a number', async () => {
    await postPoints([point(0), point(1, { loss: null }), point(2)]);
    expect((await seriesOf('loss')).map(({ mean, count, gaps }) => [mean, count, gaps])).toEqual([
      [0, 1, 0],
      [null, 0, 1],
      [2, 1, 0],
    ]);
    expect((await read()).keys).toMatchObject([{ value: 2 }]);
    await postPoints([point(3, { bad: null })]);
    expect((await read()).keys).toMatchObject([{ key: 'loss' }, { key: 'bad', value: null, step: 3 }]);
  });

  test('keeps the first 64 metric keys, and ignores further keys', async () => {
    const numberedValues = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${from + index}`, index]));
    await postPoints([
      point(0, numberedValues(0, 60)),
      point(1, numberedValues(60, 10)),
      point(2, { ...numberedValues(0, 1), late: 1 }),
    ]);
    const keys = (await read()).keys.map(({ key }) => key);
    expect(keys).toEqual(Array.from({ length: 64 }, (_, index) => `key-${index}`));
    expect(await seriesOf('key-0')).toHaveLength(2);
  });

  test.each([
    ['no attempt', { points: [] }],
    ['a text as points', { attempt_id: 'A', points: 'all' }],
    ['too many points', { attempt_id: 'A', points: Array.from({ length: 501 }, (_, n) => point(n)) }],
    ['a negative point number', { attempt_id: 'A', points: [point(-1)] }],
    ['a fractional point number', { attempt_id: 'A', points: [point(1.5)] }],
    ['a negative time', { attempt_id: 'A', points: [point(1, {}, { elapsed_ms: -1 })] }],
    ['a point without a time', { attempt_id: 'A', points: [{ n: 1, values: {} }] }],
    ['a text as value', { attempt_id: 'A', points: [{ ...point(1), values: { loss: 'NaN' } }] }],
    ['an empty key', { attempt_id: 'A', points: [point(1, { '': 1 })] }],
    ['a key with a comma', { attempt_id: 'A', points: [point(1, { 'a,b': 1 })] }],
    ['a key with a line break', { attempt_id: 'A', points: [point(1, { 'a\nb': 1 })] }],
    ['a key that is too long', { attempt_id: 'A', points: [point(1, { ['k'.repeat(65)]: 1 })] }],
    [
      'too many keys',
      {
        attempt_id: 'A',
        points: [point(1, Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`k${n}`, 1])))],
      },
    ],
  ])('refuses all points of a request with %s', async (_what, body) => {
    const bodyForJob = 'attempt_id' in body ? { ...body, attempt_id: job.attemptId } : body;
    expect(parseAnswer(await post(bodyForJob))).toMatchObject([400, { code: 'invalid_request' }]);
    expect((await read()).attempts).toEqual([]);
  });

  test('refuses points with a number that is too large for a double', async () => {
    const text = JSON.stringify({ attempt_id: job.attemptId, points: [point(1)] }).replace(
      '"loss":1',
      '"loss":1e999',
    );
    expect(parseAnswer(await post(text))).toMatchObject([400, { code: 'invalid_request' }]);
  });
});

describe('ownership of points', () => {
  test('refuses and audits points of another worker', async () => {
    const other = await openRig(server, 'rig-2');
    expect(await postPoints([point(0)], job, other)).toMatchObject([
      403,
      { code: 'not_your_job', action: 'stop' },
    ]);
    const trail = valueOf(
      await server.admin.call(auditApi.list, { query: { event_type: 'job.report_refused' } }),
    );
    expect(trail.entries).toMatchObject([{ target_id: job.jobId, details: { status: 'metrics' } }]);
    expect((await read()).attempts).toEqual([]);
  });

  test('refuses points of an unknown attempt or job', async () => {
    expect(await postPoints([], { ...job, attemptId: 'at_none' })).toMatchObject([
      403,
      { code: 'not_your_job' },
    ]);
    expect(await postPoints([], { ...job, jobId: 'j_none' as JobId })).toMatchObject([
      404,
      { code: 'job_not_found' },
    ]);
  });

  test('accepts the last points after the end of the attempt', async () => {
    await postPoints([point(0)]);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(await postPoints([point(1)])).toMatchObject([200, { next: 2 }]);
    expect(await seriesOf('loss')).toHaveLength(2);
  });

  test('shows one curve with a break for a job with two attempts', async () => {
    await postPoints([point(0), point(1)]);
    // The first attempt ends, and the job is offered again.
    await rig.report(job, 'failed', { cause: 'preempted' });
    const secondOffer = await rig.nextOffer();
    for (const status of ['starting', 'running']) await rig.report(secondOffer, status);
    expect(secondOffer).toMatchObject({ jobId: job.jobId });
    await postPoints([point(0, { loss: 9 })], secondOffer);
    // The last points of the first attempt arrive after the start of the second attempt.
    await postPoints([point(2)]);
    const { attempts, keys } = await read();
    expect(attempts.map(({ attempt, series }) => [attempt, series[0]?.points.length])).toEqual([
      [1, 3],
      [2, 1],
    ]);
    expect(attempts[0]?.offset_ms).toBe(0);
    expect(attempts[1]?.offset_ms).toBeGreaterThan(0);
    expect(attempts[0]?.ended_at).not.toBeNull();
    expect(attempts[1]).toMatchObject({
      attempt_id: secondOffer.attemptId,
      worker_id: rig.id,
      ended_at: null,
    });
    expect(keys).toMatchObject([{ key: 'loss', value: 9, attempt: 2 }]);
    expect((await read({ attempt: '1' })).attempts.map(({ attempt }) => attempt)).toEqual([1]);
    expect((await read({ attempt: '7' })).attempts).toEqual([]);
  });

  test('returns 404 for the curves of a deleted job', async () => {
    await postPoints([point(0)]);
    await rig.report(job, 'completed', { exit_code: 0 });
    const { jobId: id } = job;
    valueOf(await server.admin.call(queueApi.remove, { params: { id } }));
    const response = await server.admin.call(metricsApi.read, { params: { id }, query: {} });
    expect(response).toMatchObject({ ok: false, failure: { status: 404 } });
  });
});

describe('reading a curve', () => {
  const spikeAt = 777;
  const postManyPoints = async (count: number) => {
    for (let n = 0; n < count; n += 500)
      await postPoints(
        Array.from({ length: Math.min(500, count - n) }, (_, index) =>
          point(n + index, { loss: n + index === spikeAt ? 100 : 1 }, { epoch: (n + index) / 1_000 }),
        ),
      );
  };

  test('reads a range of a curve at the requested resolution, and keeps spikes', async () => {
    await postManyPoints(3_000);
    const all = await seriesOf('loss', { points: '5000' });
    expect(all.length).toBeLessThanOrEqual(2_048);
    expect(all.reduce((sum, { count }) => sum + count, 0)).toBe(3_000);
    const coarse = await seriesOf('loss', { points: '10' });
    expect(coarse).toHaveLength(10);
    expect(coarse.filter(({ max }) => max === 100)).toHaveLength(1);
    expect(coarse.at(-1)).toMatchObject({ step: 2_999, elapsed_ms: 2_999_000, last: 1 });
    expect(await seriesOf('loss')).toHaveLength(500);
    const part = await seriesOf('loss', { from_step: '700', to_step: '800', points: '5000' });
    expect(part.some(({ max }) => max === 100)).toBe(true);
    expect(part.length).toBeLessThanOrEqual(60);
    expect(part.every(({ step }) => step !== null && step >= 700 && step <= 802)).toBe(true);
    const late = await seriesOf('loss', { from_ms: '2998000' });
    expect(late.map(({ step }) => step)).toEqual([2_999]);
    expect((await seriesOf('epoch', { points: '1' }))[0]).toMatchObject({ last: 2.999, count: 3_000 });
    const { attempts } = await read({ keys: 'loss,none' });
    expect(attempts[0]?.series.map(({ key }) => key)).toEqual(['loss']);
  });

  test('halves the resolution of full curves, a few curves at a time, and bounds their length', async () => {
    const keys = Array.from({ length: 12 }, (_, index) => `key-${index}`);
    const values = Object.fromEntries(keys.map((key, index) => [key, index]));
    const lengths = async () => {
      const { attempts } = await read({ points: '5000' });
      return attempts[0]?.series.map(({ points }) => points.length) ?? [];
    };
    for (let n = 0; n < 2_100; n += 300)
      await postPoints(Array.from({ length: 300 }, (_, index) => point(n + index, values)));
    const full = await lengths();
    expect(full.filter(length => length <= 2_048)).toHaveLength(2);
    expect(Math.max(...full)).toBe(2_100);
    for (let n = 2_100; n < 2_105; n += 1) await postPoints([point(n, values)]);
    expect(Math.max(...(await lengths()))).toBeLessThanOrEqual(2_048);
    for (let n = 2_105; n < 8_000; n += 500)
      await postPoints(Array.from({ length: 500 }, (_, index) => point(n + index, values)));
    expect(Math.max(...(await lengths()))).toBeLessThanOrEqual(2_560);
  });

  test.each([
    { points: '0' },
    { points: '5001' },
    { keys: '' },
    { keys: 'a,,b' },
    { attempt: '0' },
    { from_step: '-1' },
    { to_ms: 'noon' },
  ])('refuses the curve query %o', async query => {
    const answer = await server.admin.call(metricsApi.read, { params: { id: job.jobId }, query });
    expect(answer).toMatchObject({ ok: false, failure: { status: 400 } });
  });

  test('exports a curve as CSV with a file name', async () => {
    await postPoints([
      point(0, { loss: 1, '=cmd': 2 }),
      point(1, { loss: null, 'a"b': 3 }, { step: undefined }),
    ]);
    const answer = await fetch(`${server.url}/api/queue/${job.jobId}/metrics/csv`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="metrics-${job.jobId}.csv"`,
    });
    expect((await answer.text()).split('\r\n')).toEqual([
      'attempt,key,step,elapsed_ms,mean,min,max,last,count,gaps',
      '1,"loss",0,0,1,1,1,1,1,0',
      '1,"loss",,1000,,,,,0,1',
      `1,"'=cmd",0,0,2,2,2,2,1,0`,
      '1,"a""b",,1000,3,3,3,3,1,0',
      '',
    ]);
    const some = await fetch(`${server.url}/api/queue/${job.jobId}/metrics/csv?keys=loss&attempt=2`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect((await some.text()).split('\r\n')).toHaveLength(2);
    const none = await fetch(`${server.url}/api/queue/j_none/metrics/csv`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    });
    expect(none.status).toBe(404);
  });
});

test("derives one point per step from the progress of SimpleTuner's own worker", async () => {
  const { id, token } = await server.createWorker({ name: 'old', labels: { age: 'old' } });
  const call = async (path: string, body: object): Promise<void> => {
    const answer = await sendRaw(server.url, {
      method: 'POST',
      path,
      headers: [['x-worker-token', token], asJson],
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(200);
  };
  await call('/api/workers/register', { name: 'old', gpu_info: { count: 1 }, persistent: true });
  const controller = new AbortController();
  await fetch(`${server.url}/api/workers/stream?worker_id=${id}`, {
    headers: { 'x-worker-token': token },
    signal: controller.signal,
  });
  const oldJob = await server.submit({ config: {}, worker_labels: { age: 'old' } });
  const path = `/api/workers/job/${oldJob}/status`;
  await call(path, { status: 'running' });
  const steps = [1, 2, 2, 3];
  for (const step of steps) {
    const progress = { current_step: step, total_steps: 10, loss: 1 / step, lr: 1e-4 };
    await call(path, { status: 'running', progress });
    const heartbeat = { current_job_id: oldJob, status: 'busy', job_progress: progress };
    await call('/api/workers/heartbeat', heartbeat);
    await server.watch.until(`step ${step}`, event =>
      event.kind === 'job' && event.job?.id === oldJob && event.job.progress?.step === step ? event : null,
    );
  }
  await call(path, { status: 'completed', exit_code: 0 });
  controller.abort();
  const { attempts } = await read({ keys: 'loss,learning_rate' }, oldJob);
  const [loss, rate] = attempts[0]?.series ?? [];
  expect([loss?.key, rate?.key]).toEqual(['loss', 'learning_rate']);
  expect(loss?.points.map(({ step, last }) => [step, last])).toEqual([
    [1, 1],
    [2, 0.5],
    [3, 1 / 3],
  ]);
  const times = loss?.points.map(({ elapsed_ms: ms }) => ms) ?? [];
  expect(times).toEqual(times.toSorted((a, b) => a - b));
});
