import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { auditApi } from '../../../protocol/admin-api.ts';
import { manifestName } from '../../../protocol/artifact.ts';
import { artifactsApi } from '../../../protocol/artifacts-api.ts';
import { JobId } from '../../../protocol/ids.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { asJson, sendRaw } from '../../support/raw-request.ts';
import { startTestServer, type TestServer, valueOf } from '../../support/server.ts';
import { openRig, type JobOffer, type Rig, startJob, upload } from '../../support/upload-bench.ts';

// The limits are in bytes. The server keeps the two newest checkpoints and the best checkpoint of a job.
const storage = { perJob: 10_000, inAll: 15_000, keepCheckpoints: 2, reserve: 0 };

let server: TestServer;
let rig: Rig;
let job: JobOffer;
beforeEach(async () => {
  server = await startTestServer({ config: { storage } });
  rig = await openRig(server);
  job = await startJob(server, rig);
});
afterEach(() => server.close());

async function uploadFile(key: string, offer: JobOffer = job): Promise<void> {
  expect((await upload(server.url, offer.token, key, { body: key })).status).toBe(200);
}
const postLosses = (points: readonly (readonly [step: number, loss: number])[], offer: JobOffer = job) =>
  sendRaw(server.url, {
    method: 'POST',
    path: `/api/workers/job/${offer.jobId}/metrics`,
    headers: [['x-worker-token', rig.token], asJson],
    body: JSON.stringify({
      attempt_id: offer.attemptId,
      points: points.map(([step, loss], n) => ({ n, elapsed_ms: n, step, values: { loss } })),
    }),
  });
// Makes the worker lose its job by registering without naming the job. Returns the next offer of the job.
async function loseJob(): Promise<JobOffer> {
  await rig.register();
  return rig.nextOffer();
}
const list = async (id = job.jobId) =>
  valueOf(await server.admin.call(artifactsApi.checkpoints, { params: { id } })).checkpoints;
const namesOf = async () => (await list()).map(({ name }) => name);
const keysOf = async () =>
  valueOf(await server.admin.call(artifactsApi.list, { params: { id: job.jobId }, query: {} })).artifacts.map(
    ({ key }) => key,
  );
const listResumedCheckpoints = async () =>
  valueOf(await server.admin.call(queueApi.get, { params: { id: job.jobId } })).attempts.map(
    ({ resumed }) => resumed,
  );

describe('resuming from a checkpoint', () => {
  test('offers the newest complete checkpoint to the next attempt, and reports the lost steps', async () => {
    await uploadFile('checkpoint-000100.bin');
    await uploadFile('checkpoint-200/model.bin');
    await uploadFile(`checkpoint-200/${manifestName}`);
    await uploadFile('checkpoint-300/model.bin');
    await rig.report(job, 'running', { progress: { step: 337, total_steps: 1000 } });
    expect(job.resume).toBeNull();
    const next = await loseJob();
    expect(next.resume).toEqual({ checkpoint: 'checkpoint-200', step: 200 });
    expect(await listResumedCheckpoints()).toEqual([
      null,
      { checkpoint: 'checkpoint-200', step: 200, steps_lost: 137 },
    ]);
  });

  test('repeats an offer with the same checkpoint, although a newer checkpoint exists', async () => {
    await uploadFile('checkpoint-000100.bin');
    const next = await loseJob();
    await uploadFile('checkpoint-000150.bin', next);
    await rig.openStream();
    expect(await rig.nextOffer()).toEqual(next);
  });

  test('starts from the beginning without a checkpoint, and reports the lost steps', async () => {
    await rig.report(job, 'running', { progress: { step: 41 } });
    expect((await loseJob()).resume).toBeNull();
    expect(await listResumedCheckpoints()).toEqual([null, { checkpoint: null, step: null, steps_lost: 41 }]);
  });

  test('ignores the checkpoints of another job', async () => {
    await uploadFile('checkpoint-000100.bin');
    await rig.report(job, 'completed');
    const other = await startJob(server, rig);
    await rig.register();
    expect((await rig.nextOffer()).resume).toBeNull();
    expect(await list(other.jobId)).toEqual([]);
  });
});

describe('listing and pruning checkpoints', () => {
  test('lists checkpoints newest first, with their files, loss and completeness', async () => {
    await postLosses([
      [100, 3],
      [150, 1],
      [200, 1],
      [300, 2],
    ]);
    await uploadFile('checkpoint-000100.bin');
    await uploadFile('checkpoint-000200.bin');
    await uploadFile('checkpoint-300/model.bin');
    expect(await list()).toEqual([
      {
        name: 'checkpoint-300',
        step: 300,
        files: 1,
        bytes: 24,
        complete: false,
        newest: false,
        best: false,
        loss: null,
        attempt: 1,
        created_at: expect.any(String) as string,
      },
      expect.objectContaining({
        name: 'checkpoint-000200.bin',
        complete: true,
        newest: true,
        best: true,
        loss: 1,
      }) as object,
      expect.objectContaining({
        name: 'checkpoint-000100.bin',
        newest: false,
        best: false,
        loss: 3,
      }) as object,
    ]);
  });

  test('returns 404 for the checkpoints of an unknown job', async () => {
    const answer = await server.admin.call(artifactsApi.checkpoints, {
      params: { id: JobId.parse('j_none') },
    });
    expect(answer).toMatchObject({ ok: false, failure: { status: 404 } });
  });

  test('deletes older checkpoints except the best checkpoint, and no other files', async () => {
    await postLosses([
      [100, 1],
      [200, 3],
      [300, 3],
      [400, 2],
    ]);
    await uploadFile('sample-000100.png');
    await uploadFile('checkpoint-000100.bin');
    await uploadFile('checkpoint-200/model.bin');
    await uploadFile('checkpoint-200/validation/1.png');
    await uploadFile(`checkpoint-200/${manifestName}`);
    await uploadFile('checkpoint-000300.bin');
    expect(await namesOf()).toEqual(['checkpoint-000300.bin', 'checkpoint-200', 'checkpoint-000100.bin']);
    await uploadFile('checkpoint-000400.bin');
    expect(await namesOf()).toEqual([
      'checkpoint-000400.bin',
      'checkpoint-000300.bin',
      'checkpoint-000100.bin',
    ]);
    expect(await keysOf()).toEqual([
      'checkpoint-000400.bin',
      'checkpoint-000300.bin',
      'checkpoint-200/validation/1.png',
      'checkpoint-000100.bin',
      'sample-000100.png',
    ]);
    const { entries } = valueOf(
      await server.admin.call(auditApi.list, { query: { event_type: 'artifact.deleted' } }),
    );
    expect(entries.map(({ actor_type: actorType, details }) => [actorType, details])).toEqual([
      [
        'system',
        {
          key: 'checkpoint-200',
          files: 2,
          bytes: 'checkpoint-200/model.bin'.length + `checkpoint-200/${manifestName}`.length,
          kept: 2,
        },
      ],
    ]);
  });

  test('keeps the best checkpoint even when many newer checkpoints follow', async () => {
    const loss: Readonly<Record<number, number>> = { 100: 9, 200: 1, 300: 3, 400: 3, 500: 3, 600: 3 };
    await postLosses(Object.entries(loss).map(([step, value]) => [Number(step), value]));
    for (const step of Object.keys(loss)) await uploadFile(`checkpoint-000${step}.bin`);
    expect((await list()).map(({ step, best, loss: reportedLoss }) => [step, best, reportedLoss])).toEqual([
      [600, false, 3],
      [500, false, 3],
      [200, true, 1],
    ]);
  });
});
