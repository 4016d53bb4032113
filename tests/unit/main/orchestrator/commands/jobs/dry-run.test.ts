// A dry run predicts what would happen to a job without creating it.
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { AgentOptions } from '../../../../../support/fleet-worker.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { kohya } from '../../../../trainers/configs.ts';

type RequestFields = Partial<z.input<typeof SubmitRequest>>;

const toRequest = (fields: RequestFields) => SubmitRequest.parse({ config: {}, ...fields, dry_run: true });

// Performs a dry run, and fails when the dry run changed any state.
async function dryRun(fleet: Fleet, fields: RequestFields = {}) {
  const snapshot = () => ({
    writes: fleet.writes,
    seq: fleet.orchestrator.lifecycle.lastSeq(),
    audit: fleet.audit().length,
    jobs: fleet.store.countJobs(),
  });
  const before = snapshot();
  const outcome = await fleet.orchestrator.jobs.dryRun(toRequest(fields), ada);
  await fleet.clock.settle();
  expect(snapshot()).toEqual(before);
  return valueOf(outcome);
}

describe('dryRun', () => {
  test('returns the worker and the GPUs that the job would get', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { gpus: 8 } });
    const small = await fleet.addIdleWorker({ agent: { gpus: 2 } });
    const prediction = await dryRun(fleet, { gpu_count: 2 });
    expect(prediction).toMatchObject({
      status: 'running',
      workerId: small.id,
      gpus: [0, 1],
      position: null,
      reason: null,
      explanation: {
        job_id: null,
        status: 'pending',
        summary: 'An idle worker fits: the job is next',
        predicted_start: { in_s: 0, basis: 'an idle worker fits' },
      },
    });
    expect(small.commands).toEqual([]);
    expect(await fleet.submit({ gpu_count: 2 })).toMatchObject({ status: 'running', workerId: small.id });
  });

  const commandTrainer: AgentOptions = {
    trainers: [{ name: 'command', version: null }],
    outputs: { upload: 'all', command_has_output_dir: false },
  };
  const expectedWarnings = [
    { code: 'outputs_no_folder', message: expect.stringMatching(/^The trainer command of worker rig-1/) },
  ];

  test('returns the same warning as the submission when outputs would stay on the rig', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ name: 'rig-1', agent: commandTrainer });
    expect(await dryRun(fleet)).toMatchObject({ status: 'running', warnings: expectedWarnings });
    const { jobId, warnings } = await fleet.submit();
    expect(warnings).toMatchObject(expectedWarnings);
    expect(fleet.job(jobId).warnings).toEqual(warnings);
    const row = fleet.audit().find(({ type }) => type === 'job.dispatched');
    expect(JSON.parse(row?.details ?? '')).toMatchObject({ warning: warnings[0]?.message });
    // The rig is busy now, but still the only worker for another job.
    expect(await dryRun(fleet)).toMatchObject({ status: 'queued', warnings: expectedWarnings });
  });

  test('returns no warning when outputs are uploaded', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { outputs: { upload: 'all', command_has_output_dir: true } } });
    expect(await dryRun(fleet)).toMatchObject({ status: 'running', warnings: [] });
    const { jobId } = await fleet.submit();
    expect(fleet.job(jobId).warnings).toEqual([]);
  });

  test('predicts a position behind jobs of the same priority and before jobs of a lower priority', async () => {
    const fleet = await openFleet();
    for (const priority of [10, 10, 0] as const) await fleet.submit({ priority });
    expect(await dryRun(fleet)).toMatchObject({
      status: 'queued',
      workerId: null,
      gpus: null,
      position: 3,
      reason: 'No idle workers: no worker has been created yet',
      explanation: { position: 3, unsatisfiable: true },
    });
    expect(await dryRun(fleet, { priority: 'urgent' })).toMatchObject({ position: 1 });
  });

  test('predicts status blocked for a job that needs approval, even beside an idle worker', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    expect(await dryRun(fleet, { requires_approval: true })).toMatchObject({
      status: 'blocked',
      workerId: null,
      position: null,
      reason: 'Waits for approval by somebody who may manage the queue',
    });
  });

  test('predicts a rejection for a no_wait job that would have to wait', async () => {
    const fleet = await openFleet();
    const request = { no_wait: true, gpu_count: 4 };
    await fleet.addIdleWorker({ agent: { gpus: 1 } });
    expect(await dryRun(fleet, request)).toMatchObject({
      status: 'rejected',
      position: null,
      reason: expect.stringMatching(/^GPU requirements not met/),
    });
    const big = await fleet.addIdleWorker({ agent: { gpus: 4 } });
    expect(await dryRun(fleet, request)).toMatchObject({ status: 'running', workerId: big.id });
  });

  test('predicts a rejection while the disk is full', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    await fleet.setDiskFull(true);
    const prediction = await dryRun(fleet);
    expect(prediction).toMatchObject({ status: 'rejected', explanation: { reasons: [{ code: 'storage' }] } });
    await fleet.setDiskFull(false);
    expect(await dryRun(fleet)).toMatchObject({ status: 'running' });
  });

  test.each<readonly [queueState: string, restrict: (fleet: Fleet) => Promise<unknown>, reason: RegExp]>([
    ['paused', fleet => fleet.orchestrator.queue.pause('lunch', ada), /paused by ada: lunch/],
    ['at its limit', fleet => fleet.orchestrator.queue.limit({ max_concurrent: 0 }, ada), /0 of 0 jobs run/],
    [
      'at the limit of the user',
      fleet => fleet.orchestrator.queue.limit({ user_max_concurrent: 0 }, ada),
      /of ada run/,
    ],
  ])('predicts status queued while the queue is %s', async (_queueState, restrict, reason) => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    await restrict(fleet);
    expect(await dryRun(fleet)).toMatchObject({
      status: 'queued',
      position: 1,
      reason: expect.stringMatching(reason),
      explanation: { predicted_start: null, workers: [{ fits: true }] },
    });
  });

  test('ignores a worker whose silence has just passed the heartbeat timeout', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const outcomes: Promise<unknown>[] = [];
    // The call happens at the moment of the timeout, before the orchestrator handles the timeout.
    fleet.clock.after(120_000, () => outcomes.push(fleet.orchestrator.jobs.dryRun(toRequest({}), ada)));
    await rig.beat();
    await fleet.clock.advance(120_000);
    expect(await Promise.all(outcomes)).toMatchObject([
      { ok: true, value: { status: 'queued', workerId: null } },
    ]);
  });

  test.each<readonly [request: RequestFields, code: string]>([
    [{ config: { num_processes: 'many' } }, 'config_invalid'],
    [{ config: { accelerate_visible_devices: [] } }, 'config_invalid'],
    [{ target: 'local' }, 'target_unavailable'],
  ])('refuses the invalid request %j with %s, as a submission would', async (request, code) => {
    const fleet = await openFleet();
    expect(await fleet.orchestrator.jobs.dryRun(toRequest(request), ada)).toMatchObject({
      ok: false,
      refusal: { code },
    });
  });
});

// One point of a stored curve.
const emptyBucket = {
  firstStep: 0,
  lastStep: 9,
  firstMs: 0,
  lastMs: 9,
  count: 1,
  min: 0,
  max: 0,
  mean: 0,
  last: 0,
  gaps: 0,
};

describe('figures of earlier runs', () => {
  // Completes a job of 1,000 steps after 100 s, with a curve of the GPU's memory.
  async function completeJob({ fleet, rig }: Fixture, config: object, user = ada): Promise<void> {
    const request = SubmitRequest.parse({ config });
    const submitted = valueOf(await fleet.orchestrator.jobs.submit(request, user));
    if (submitted.status === 'rejected') throw new Error('the job was rejected');
    const { jobId } = submitted;
    await fleet.clock.settle();
    await rig.run(jobId);
    await fleet.clock.advance(100_000);
    valueOf(await rig.report(jobId, 'completed', { progress: { step: 1_000, total_steps: 1_000 } }));
    const attemptId = fleet.store.job(jobId)?.attempt?.id;
    if (attemptId === undefined) throw new Error('the job has no attempt');
    await fleet.store.write(tx => {
      tx.putMetricRun({ jobId, attemptId, next: 1, lastStep: null, lastMs: 0 });
      const page = [20_480, 21_913, 9_000].map(max => ({ ...emptyBucket, max }));
      tx.putSeries({ jobId, attemptId }, 'gpu.0.memory_mb', { page: 0, width: 1 }, [page]);
    });
    await fleet.clock.settle();
  }

  async function openWithRig() {
    const fleet = await openFleet();
    const agent = { trainers: [{ name: 'kohya', version: null }] };
    return { fleet, rig: await fleet.addIdleWorker({ agent }) };
  }
  type Fixture = Awaited<ReturnType<typeof openWithRig>>;

  test('returns figures of completed jobs with a similar config, scaled to the steps of the dry run', async () => {
    const fixture = await openWithRig();
    const { fleet } = fixture;
    await completeJob(fixture, kohya);
    await completeJob(fixture, { ...kohya, seed: 4 });
    await completeJob(fixture, { ...kohya, network_dim: 128 });
    expect(await dryRun(fleet, { config: { ...kohya, max_train_steps: 3_000 } })).toMatchObject({
      earlier: { runs: 2, expected_s: 300, peak_memory_gb: 21.4, output_bytes: null },
      checksKeys: false,
    });
    expect(await dryRun(fleet, { config: { ...kohya, resolution: '2048' } })).toMatchObject({
      earlier: null,
    });
    expect(await dryRun(fleet, { config: { lr: 1 } })).toMatchObject({ earlier: null });
  });

  test('ignores the jobs of other users unless the submitter may see these jobs', async () => {
    const fixture = await openWithRig();
    const { fleet } = fixture;
    await completeJob(fixture, kohya, bob);
    expect(await dryRun(fleet, { config: kohya })).toMatchObject({ earlier: null });
    const permissions = ['queue.view', 'queue.submit'] as const;
    const token = { name: 'ada', team: null, permissions: [...permissions], expires_in_s: null };
    valueOf(await fleet.orchestrator.access.createToken(token, permissions, bob));
    expect(await dryRun(fleet, { config: kohya })).toMatchObject({ earlier: { runs: 1 } });
  });
});

describe('predicted start of a job', () => {
  async function openWithTwoJobs() {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()] as const;
    const jobs = [await fleet.runJob(rigs[0]), await fleet.runJob(rigs[1])] as const;
    return { fleet, rigs, jobs };
  }

  test('predicts the start from the speed of running jobs', async () => {
    const { fleet, rigs, jobs } = await openWithTwoJobs();
    await fleet.clock.advance(60_000);
    await rigs[0].report(jobs[0], 'running', {
      progress: { step: 100, total_steps: 400, steps_per_second: 2 },
    });
    await rigs[1].report(jobs[1], 'running', { progress: { percent: 50 } });
    await fleet.clock.advance(1000);
    const { explanation } = await dryRun(fleet);
    expect(explanation.predicted_start).toMatchObject({
      in_s: 61,
      guess: true,
      at: new Date(fleet.clock.wall() + 61_000).toISOString(),
      basis: '0 jobs ahead; speed of 2 running jobs',
    });
    expect(explanation.no_prediction).toBeNull();
  });

  test('predicts no start while no job duration is known', async () => {
    const { fleet } = await openWithTwoJobs();
    const { explanation } = await dryRun(fleet);
    expect(explanation).toMatchObject({
      predicted_start: null,
      no_prediction: 'It is unknown how long the jobs ahead of it will run',
    });
  });

  test('predicts a later start for each job ahead that needs the same workers', async () => {
    const { fleet, rigs, jobs } = await openWithTwoJobs();
    await fleet.clock.advance(100_000);
    for (const [n, rig] of rigs.entries()) await rig.beat(jobs[n]);
    await rigs[0].report(jobs[0], 'completed');
    const third = await fleet.runJob(rigs[0]);
    await rigs[0].report(third, 'running', { progress: { eta_s: 40 } });
    await fleet.clock.advance(1000);
    const starts: (number | undefined)[] = [];
    for (let n = 0; n < 3; n++) {
      starts.push((await dryRun(fleet)).explanation.predicted_start?.in_s);
      await fleet.submit();
    }
    // The job of the second worker has reached the average duration. The job of the first worker needs 40 s more.
    expect(starts).toEqual([0, 40, 100]);
    await fleet.submit({ gpu_count: 9 });
    const { explanation } = await dryRun(fleet, { priority: 'high' });
    expect(explanation.predicted_start?.in_s).toBe(0);
    const last = (await dryRun(fleet)).explanation.predicted_start;
    expect(last).toMatchObject({
      in_s: 140,
      basis: '3 jobs ahead; speed of 1 running job; average run of the last 24 hours',
    });
  });

  test('predicts no start while all fitting workers are offline or leave after their job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig);
    await rig.report(job, 'running', { progress: { eta_s: 40 } });
    await fleet.clock.advance(1000);
    expect((await dryRun(fleet)).explanation.predicted_start).toBeNull();
    const otherRig = await fleet.addIdleWorker();
    await otherRig.disconnect();
    await rig.disconnect();
    expect((await dryRun(fleet)).explanation.no_prediction).toBe(
      'Every worker that fits is unavailable, and it is unknown for how long',
    );
  });

  test("predicts a start within the trainer's stop timeout after a cancel", async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    expect((await dryRun(fleet)).explanation.predicted_start?.in_s).toBe(30);
  });

  test('predicts no start when more than 300 jobs are ahead', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'running', { progress: { eta_s: 40 } });
    for (let n = 0; n < 301; n++) await fleet.submit();
    expect((await dryRun(fleet)).explanation.no_prediction).toBe('Too many jobs are ahead of it');
  });
});
