// See docs/internals/faults.md, S6 and S7.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { auditApi, workersApi } from '../../../protocol/admin-api.ts';
import { UiEvent } from '../../../protocol/events.ts';
import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { asJson, type RawAnswer, sendRaw } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.close());

interface Rig {
  readonly id: WorkerId;
  readonly post: (path: string, body: string | object) => Promise<RawAnswer>;
  readonly openStream: (workerId: WorkerId) => Promise<number>;
}

// Adds a worker whose calls the test makes.
async function addRig(name: string): Promise<Rig> {
  const { id, token } = await server.createWorker({ name, labels: { rig: name } });
  const tokenHeader = ['x-worker-token', token] as const;
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const rig: Rig = {
    id,
    post: (path, body) =>
      sendRaw(server.url, {
        method: 'POST',
        path,
        headers: [tokenHeader, asJson],
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async openStream(workerId) {
      const url = `${server.url}/api/workers/stream?worker_id=${workerId}`;
      const response = await fetch(url, { headers: [[...tokenHeader]], signal: controller.signal });
      return response.status;
    },
  };
  await rig.post('/api/workers/register', { protocol: 2, persistent: true, gpu_count: 0 });
  expect(await rig.openStream(id)).toBe(200);
  await server.watch.worker(id, 'idle');
  return rig;
}

const readJob = async (id: JobId) => valueOf(await server.admin.call(queueApi.get, { params: { id } }));

// Submits a job and reports that the worker runs it.
async function runOn(rig: Rig, name: string): Promise<JobId> {
  const job = await server.submit({ config: {}, worker_labels: { rig: name } });
  expect((await rig.post(`/api/workers/job/${job}/status`, { status: 'running' })).status).toBe(200);
  await server.watch.job(job, 'running');
  return job;
}

describe('calls of a worker about another worker or its job', () => {
  test('refuses reports, streams and heartbeats about another worker, and audits the refusals', async () => {
    const [owner, other] = [await addRig('a-1'), await addRig('a-2')];
    const job = await runOn(owner, 'a-1');
    const before = await readJob(job);
    for (const status of ['starting', 'running', 'completed', 'failed', 'cancelled']) {
      const answer = await other.post(`/api/workers/job/${job}/status`, { status });
      expect([status, answer.status, answer.code]).toEqual([status, 403, 'not_your_job']);
    }
    const attempt = (await readJob(job)).attempts.at(-1)?.attempt_id;
    const reportOfAttempt = await other.post(`/api/workers/job/${job}/status`, {
      status: 'completed',
      attempt_id: attempt,
    });
    expect(reportOfAttempt).toMatchObject({ status: 403, code: 'not_your_job' });
    expect(await other.openStream(owner.id)).toBe(403);
    for (const path of ['/api/workers/heartbeat', '/api/workers/disconnect'])
      expect(await other.post(path, { worker_id: owner.id })).toMatchObject({
        status: 403,
        code: 'not_your_worker',
      });
    // The other worker falsely claims to run the job. The answer orders it to abandon the job, which does not change.
    const claim = { protocol: 2, persistent: true, gpu_count: 0, current_job_id: job };
    expect(JSON.parse((await other.post('/api/workers/register', claim)).text)).toMatchObject({
      resume_job: null,
      abandon_job: job,
    });
    const after = await readJob(job);
    expect(after).toMatchObject({ status: 'running', worker_id: owner.id, attempt: before.attempt });
    expect(valueOf(await server.admin.call(workersApi.get, { params: { id: owner.id } }))).toMatchObject({
      status: 'busy',
      current_job_id: job,
    });

    const { entries } = valueOf(await server.admin.call(auditApi.list, { query: { limit: 500 } }));
    const refused = entries.filter(({ event_type: type }) => type === 'job.report_refused');
    expect(refused).toHaveLength(6);
    for (const entry of refused)
      expect(entry).toMatchObject({ actor_type: 'worker', actor_id: other.id, target_id: job });
    const refusedCalls = entries.filter(({ event_type: type }) => type === 'auth.refused');
    expect(refusedCalls.map(({ target_id: call }) => call).toSorted()).toEqual([
      'GET /api/workers/stream',
      'POST /api/workers/disconnect',
      'POST /api/workers/heartbeat',
    ]);
    for (const { details, address } of refusedCalls)
      expect({ details, address }).toEqual({
        details: { why: 'not_your_worker', worker_id: other.id },
        address: '127.0.0.1',
      });
  });

  test('audits at most 30 refused calls of a worker, and still serves its valid calls', async () => {
    const [owner, other] = [await addRig('b-1'), await addRig('b-2')];
    for (let n = 0; n < 200; n += 1)
      expect((await other.post('/api/workers/heartbeat', { worker_id: owner.id })).status).toBe(403);
    const query = { event_type: 'auth.refused', limit: 500 };
    const { entries } = valueOf(await server.admin.call(auditApi.list, { query }));
    const otherWorkersRows = entries.filter(({ details }) => details['worker_id'] === other.id);
    // After 30 rows, refusals of this worker are only counted.
    expect(otherWorkersRows).toHaveLength(30);
    expect((await other.post('/api/workers/heartbeat', { worker_id: other.id })).status).toBe(200);
  });
});

const nested = (levels: number, text: string): string =>
  `${'{"a":['.repeat(levels)}${text}${']}'.repeat(levels)}`;

// Values of a progress field as JSON text.
const strangeProgress: readonly (readonly [what: string, progress: string])[] = [
  ['NaN', 'NaN'],
  ['NaN as step', '{"step":NaN}'],
  ['numbers beyond the range', '{"step":1e999,"total_steps":1e999,"loss":1e999}'],
  ['very large numbers', '{"step":1e308,"total_steps":-1e308,"loss":-1e308,"percent":1e308}'],
  ['numbers as text', '{"step":"1e308","loss":"NaN","percent":"__proto__"}'],
  ['a negative percentage', '-5'],
  ['a __proto__ key', '{"__proto__":{"step":5},"constructor":{"prototype":{"step":6}}}'],
  ['too many metrics', `{"metrics":{${Array.from({ length: 9_000 }, (_, n) => `"m${n}":1e308`).join()}}}`],
  ['a name of 100 kB', `{"stage":"${'x'.repeat(100_000)}"}`],
  ['1 MB of nesting', nested(90, `"${'x'.repeat(520_000)}"`)],
  ['1 MB of lists', `[${'[0],'.repeat(130_000)}0]`],
  ['a text', '"50%"'],
  ['null', 'null'],
];

describe('unusable values in reports', () => {
  test.each(strangeProgress)(
    'refuses or drops the reported progress %s, and keeps the job running',
    async (_what, progress) => {
      const name = `c-${strangeProgress.findIndex(([, text]) => text === progress)}`;
      const rig = await addRig(name);
      const job = await runOn(rig, name);
      const report = await rig.post(
        `/api/workers/job/${job}/status`,
        `{"status":"running","progress":${progress}}`,
      );
      const heartbeat = await rig.post(
        '/api/workers/heartbeat',
        `{"worker_id":"${rig.id}","status":"busy","current_job_id":"${job}","job_progress":${progress},"gpu_utilization":${progress}}`,
      );
      for (const { status } of [report, heartbeat]) expect([200, 400, 413]).toContain(status);
      const after = await readJob(job);
      expect(after.status).toBe('running');
      expect(JSON.stringify(after).length).toBeLessThan(8_000);
      const { step = 0, total_steps: total = 0, percent = 0 } = after.progress ?? {};
      for (const figure of [step, total, percent]) {
        expect(figure).toBeGreaterThanOrEqual(0);
        expect(figure).toBeLessThanOrEqual(1e12);
      }
      for (const event of server.watch.seen) UiEvent.parse(event);
      // The final report with the same progress is accepted.
      const end = await rig.post(
        `/api/workers/job/${job}/status`,
        `{"status":"completed","exit_code":0,"progress":${/NaN/.test(progress) ? '0' : progress}}`,
      );
      expect([end.status, (await readJob(job)).status]).toEqual([200, 'completed']);
    },
  );

  test.each([
    '42',
    'null',
    '"__proto__"',
    '"constructor"',
    '"pending"',
    '["completed"]',
    '{}',
    '""',
    '"COMPLETED"',
  ])('refuses a report with the job status %s, and changes nothing', async status => {
    const name = `d-${status.replaceAll(/\W/g, '') || 'none'}-${status.length}`;
    const rig = await addRig(name);
    const job = await runOn(rig, name);
    const answer = await rig.post(`/api/workers/job/${job}/status`, `{"status":${status}}`);
    expect(answer).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await readJob(job)).toMatchObject({ status: 'running', worker_id: rig.id });
  });
});
