// A dry run predicts what would happen to a job without creating it.
import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { SubmitRequest } from '../../../../../../protocol/queue-api.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { AgentOptions } from '../../../../../support/fleet-worker.ts';
import { ada, bob, type Fleet } from '../../../../../support/fleet.ts';
import { kohya } from '../../../../trainers/configs.ts';

type Wish = Partial<z.input<typeof SubmitRequest>>;

const requestOf = (wish: Wish) => SubmitRequest.parse({ config: {}, ...wish, dry_run: true });

// Runs a dry run and throws when it changed anything.
async function tryOut(fleet: Fleet, wish: Wish = {}) {
  const traces = () => ({
    writes: fleet.writes,
    seq: fleet.orchestrator.lifecycle.lastSeq(),
    audit: fleet.audit().length,
    jobs: fleet.store.countJobs(),
  });
  const before = traces();
  const outcome = await fleet.orchestrator.jobs.dryRun(requestOf(wish), ada);
  await fleet.clock.settle();
  expect(traces()).toEqual(before);
  return valueOf(outcome);
}

describe('dryRun', () => {
  test('names the worker that would get the job, and its GPUs', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { gpus: 8 } });
    const small = await fleet.addIdleWorker({ agent: { gpus: 2 } });
    const tried = await tryOut(fleet, { gpu_count: 2 });
    expect(tried).toMatchObject({
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

  const command: AgentOptions = {
    trainers: [{ name: 'command', version: null }],
    outputs: { upload: 'all', command_has_output_dir: false },
  };
  const warned = [
    { code: 'outputs_no_folder', message: expect.stringMatching(/^The trainer command of worker rig-1/) },
  ];

  test('warns when outputs would stay on the rig, as the submit and the job do', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ name: 'rig-1', agent: command });
    expect(await tryOut(fleet)).toMatchObject({ status: 'running', warnings: warned });
    const { jobId, warnings } = await fleet.submit();
    expect(warnings).toMatchObject(warned);
    expect(fleet.job(jobId).warnings).toEqual(warnings);
    const told = fleet.audit().find(({ type }) => type === 'job.dispatched');
    expect(JSON.parse(told?.details ?? '')).toMatchObject({ warning: warnings[0]?.message });
    // The rig is busy now, but still the only one that can run another job.
    expect(await tryOut(fleet)).toMatchObject({ status: 'queued', warnings: warned });
  });

  test('returns no warning when outputs are uploaded', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker({ agent: { outputs: { upload: 'all', command_has_output_dir: true } } });
    expect(await tryOut(fleet)).toMatchObject({ status: 'running', warnings: [] });
    const { jobId } = await fleet.submit();
    expect(fleet.job(jobId).warnings).toEqual([]);
  });

  test('predicts a position behind jobs of the same priority and before lower ones', async () => {
    const fleet = await openFleet();
    for (const priority of [10, 10, 0] as const) await fleet.submit({ priority });
    expect(await tryOut(fleet)).toMatchObject({
      status: 'queued',
      workerId: null,
      gpus: null,
      position: 3,
      reason: 'No idle workers: no worker has been created yet',
      explanation: { position: 3, unsatisfiable: true },
    });
    expect(await tryOut(fleet, { priority: 'urgent' })).toMatchObject({ position: 1 });
  });

  test('predicts status blocked for a job that needs approval, even beside an idle worker', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    expect(await tryOut(fleet, { requires_approval: true })).toMatchObject({
      status: 'blocked',
      workerId: null,
      position: null,
      reason: 'Waits for approval by somebody who may manage the queue',
    });
  });

  test('predicts a rejection for a no_wait job that would have to wait', async () => {
    const fleet = await openFleet();
    const wish = { no_wait: true, gpu_count: 4 };
    await fleet.addIdleWorker({ agent: { gpus: 1 } });
    expect(await tryOut(fleet, wish)).toMatchObject({
      status: 'rejected',
      position: null,
      reason: expect.stringMatching(/^GPU requirements not met/),
    });
    const big = await fleet.addIdleWorker({ agent: { gpus: 4 } });
    expect(await tryOut(fleet, wish)).toMatchObject({ status: 'running', workerId: big.id });
  });

  test('predicts a rejection while the disk is full', async () => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    await fleet.setDiskFull(true);
    const tried = await tryOut(fleet);
    expect(tried).toMatchObject({ status: 'rejected', explanation: { reasons: [{ code: 'storage' }] } });
    await fleet.setDiskFull(false);
    expect(await tryOut(fleet)).toMatchObject({ status: 'running' });
  });

  test.each<readonly [what: string, hold: (fleet: Fleet) => Promise<unknown>, reason: RegExp]>([
    ['paused', fleet => fleet.orchestrator.queue.pause('lunch', ada), /paused by ada: lunch/],
    ['at its limit', fleet => fleet.orchestrator.queue.limit({ max_concurrent: 0 }, ada), /0 of 0 jobs run/],
    [
      'at the limit of the user',
      fleet => fleet.orchestrator.queue.limit({ user_max_concurrent: 0 }, ada),
      /of ada run/,
    ],
  ])('predicts waiting while the queue is %s', async (_what, hold, reason) => {
    const fleet = await openFleet();
    await fleet.addIdleWorker();
    await hold(fleet);
    expect(await tryOut(fleet)).toMatchObject({
      status: 'queued',
      position: 1,
      reason: expect.stringMatching(reason),
      explanation: { predicted_start: null, workers: [{ fits: true }] },
    });
  });

  test('ignores a worker whose silence has just passed the heartbeat timeout', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const seen: Promise<unknown>[] = [];
    // The call happens at the moment of the timeout, before the orchestrator handles it.
    fleet.clock.after(120_000, () => seen.push(fleet.orchestrator.jobs.dryRun(requestOf({}), ada)));
    await rig.beat();
    await fleet.clock.advance(120_000);
    expect(await Promise.all(seen)).toMatchObject([
      { ok: true, value: { status: 'queued', workerId: null } },
    ]);
  });

  test.each<readonly [wish: Wish, code: string]>([
    [{ config: { num_processes: 'many' } }, 'config_invalid'],
    [{ config: { accelerate_visible_devices: [] } }, 'config_invalid'],
    [{ target: 'local' }, 'target_unavailable'],
  ])('refuses an invalid request as a submit would: %j', async (wish, code) => {
    const fleet = await openFleet();
    expect(await fleet.orchestrator.jobs.dryRun(requestOf(wish), ada)).toMatchObject({
      ok: false,
      refusal: { code },
    });
  });
});

const bucket = {
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
  async function runOnce({ fleet, rig }: Bench, config: object, by = ada): Promise<void> {
    const request = SubmitRequest.parse({ config });
    const submitted = valueOf(await fleet.orchestrator.jobs.submit(request, by));
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
      const page = [20_480, 21_913, 9_000].map(max => ({ ...bucket, max }));
      tx.putSeries({ jobId, attemptId }, 'gpu.0.memory_mb', { page: 0, width: 1 }, [page]);
    });
    await fleet.clock.settle();
  }

  async function openWithRig() {
    const fleet = await openFleet();
    const agent = { trainers: [{ name: 'kohya', version: null }] };
    return { fleet, rig: await fleet.addIdleWorker({ agent }) };
  }
  type Bench = Awaited<ReturnType<typeof openWithRig>>;

  test('are those of completed jobs with a similar config, for the steps of this one', async () => {
    const bench = await openWithRig();
    const { fleet } = bench;
    await runOnce(bench, kohya);
    await runOnce(bench, { ...kohya, seed: 4 });
    await runOnce(bench, { ...kohya, network_dim: 128 });
    expect(await tryOut(fleet, { config: { ...kohya, max_train_steps: 3_000 } })).toMatchObject({
      earlier: { runs: 2, expected_s: 300, peak_memory_gb: 21.4, output_bytes: null },
      checksKeys: false,
    });
    expect(await tryOut(fleet, { config: { ...kohya, resolution: '2048' } })).toMatchObject({
      earlier: null,
    });
    expect(await tryOut(fleet, { config: { lr: 1 } })).toMatchObject({ earlier: null });
  });

  test('leave out the jobs of other users, unless the submitter may see those', async () => {
    const bench = await openWithRig();
    const { fleet } = bench;
    await runOnce(bench, kohya, bob);
    expect(await tryOut(fleet, { config: kohya })).toMatchObject({ earlier: null });
    const permissions = ['queue.view', 'queue.submit'] as const;
    const wanted = { name: 'ada', team: null, permissions: [...permissions], expires_in_s: null };
    valueOf(await fleet.orchestrator.access.createToken(wanted, permissions, bob));
    expect(await tryOut(fleet, { config: kohya })).toMatchObject({ earlier: { runs: 1 } });
  });
});

describe('predicted start of a job', () => {
  async function twoRigs() {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()] as const;
    const jobs = [await fleet.runJob(rigs[0]), await fleet.runJob(rigs[1])] as const;
    return { fleet, rigs, jobs };
  }

  test('uses the speed of running jobs and the usual duration for the jobs ahead', async () => {
    const { fleet, rigs, jobs } = await twoRigs();
    await fleet.clock.advance(60_000);
    await rigs[0].report(jobs[0], 'running', {
      progress: { step: 100, total_steps: 400, steps_per_second: 2 },
    });
    await rigs[1].report(jobs[1], 'running', { progress: { percent: 50 } });
    await fleet.clock.advance(1000);
    const { explanation } = await tryOut(fleet);
    expect(explanation.predicted_start).toMatchObject({
      in_s: 61,
      guess: true,
      at: new Date(fleet.clock.wall() + 61_000).toISOString(),
      basis: '0 jobs ahead; speed of 2 running jobs',
    });
    expect(explanation.no_prediction).toBeNull();
  });

  test('predicts no start while no job duration is known', async () => {
    const { fleet } = await twoRigs();
    const { explanation } = await tryOut(fleet);
    expect(explanation).toMatchObject({
      predicted_start: null,
      no_prediction: 'It is unknown how long the jobs ahead of it will run',
    });
  });

  test('predicts a later start for each job ahead that needs the same workers', async () => {
    const { fleet, rigs, jobs } = await twoRigs();
    await fleet.clock.advance(100_000);
    for (const [n, rig] of rigs.entries()) await rig.beat(jobs[n]);
    await rigs[0].report(jobs[0], 'completed');
    const again = await fleet.runJob(rigs[0]);
    await rigs[0].report(again, 'running', { progress: { eta_s: 40 } });
    await fleet.clock.advance(1000);
    const starts: (number | undefined)[] = [];
    for (let n = 0; n < 3; n++) {
      starts.push((await tryOut(fleet)).explanation.predicted_start?.in_s);
      await fleet.submit();
    }
    // The second worker's job has reached the usual duration, and the first one needs 40 s more.
    expect(starts).toEqual([0, 40, 100]);
    await fleet.submit({ gpu_count: 9 });
    const { explanation } = await tryOut(fleet, { priority: 'high' });
    expect(explanation.predicted_start?.in_s).toBe(0);
    const last = (await tryOut(fleet)).explanation.predicted_start;
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
    expect((await tryOut(fleet)).explanation.predicted_start).toBeNull();
    const other = await fleet.addIdleWorker();
    await other.disconnect();
    await rig.disconnect();
    expect((await tryOut(fleet)).explanation.no_prediction).toBe(
      'Every worker that fits is unavailable, and it is unknown for how long',
    );
  });

  test("predicts a start within the trainer's stop timeout after a cancel", async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    expect((await tryOut(fleet)).explanation.predicted_start?.in_s).toBe(30);
  });

  test('predicts no start when more than 300 jobs are ahead', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'running', { progress: { eta_s: 40 } });
    for (let n = 0; n < 301; n++) await fleet.submit();
    expect((await tryOut(fleet)).explanation.no_prediction).toBe('Too many jobs are ahead of it');
  });
});
