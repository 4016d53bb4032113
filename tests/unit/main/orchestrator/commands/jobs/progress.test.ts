// See docs/internals/semantics.md, section 8.
import { expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../../support/fleet.ts';

const progressEvents = (fleet: Fleet, id: JobId): number =>
  fleet.trail(id).filter(type => type === 'job.progress').length;

test('merges progress figures from status reports and heartbeats', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'running', { progress: { current_step: 30, total_steps: 120 } });
  expect(fleet.job(job).progress).toEqual({ step: 30, total_steps: 120, percent: 25 });
  await fleet.clock.advance(250);
  await rig.beat(job, { job_progress: { loss: 0.5, steps_per_second: 3, stage: 'unet' } });
  expect(fleet.job(job).progress).toEqual({
    step: 30,
    total_steps: 120,
    percent: 25,
    loss: 0.5,
    steps_per_second: 3,
    stage: 'unet',
    eta_s: 30,
  });
  await fleet.clock.advance(250);
  await rig.report(job, 'running', { progress: 40 });
  expect(fleet.job(job).progress).toMatchObject({ percent: 40, loss: 0.5 });
});

test('publishes the newest progress of each job at most four times a second', async () => {
  const fleet = await openFleet();
  const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()] as const;
  const jobs = [await fleet.runJob(rigs[0]), await fleet.runJob(rigs[1])] as const;
  for (let step = 1; step <= 100; step++) {
    await rigs[0].beat(jobs[0], { job_progress: { step } });
    await rigs[1].report(jobs[1], 'running', { progress: { step } });
    await fleet.clock.advance(10);
  }
  // The events are at 0, 250, 500, 750 and 1000 ms.
  expect(jobs.map(job => progressEvents(fleet, job))).toEqual([5, 5]);
  expect(jobs.map(job => fleet.job(job).progress?.step)).toEqual([100, 100]);
});

test('publishes delayed progress after 250 ms, without another report', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.beat(job, { job_progress: { step: 1 } });
  await rig.beat(job, { job_progress: { step: 2 } });
  expect(fleet.job(job).progress?.step).toBe(1);
  await fleet.clock.advance(249);
  expect(fleet.job(job).progress?.step).toBe(1);
  await fleet.clock.advance(1);
  expect(fleet.job(job).progress?.step).toBe(2);
});

test.each(['completed', 'failed', 'cancelled'] as const)(
  'keeps the last progress figures when the job ends with “%s”',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.beat(job, { job_progress: { step: 1, loss: 3 } });
    await rig.beat(job, { job_progress: { step: 2 } });
    await rig.beat(job, { job_progress: { loss: 1 } });
    await rig.report(job, status, { exit_code: 1, progress: { total_steps: 2 } });
    expect(fleet.job(job).progress).toEqual({ step: 2, loss: 1, total_steps: 2, percent: 100 });
    await fleet.clock.advance(1_000);
    expect(fleet.trail(job).slice(-3)).toEqual([
      'job.progress',
      'job.progress',
      expect.not.stringContaining('progress'),
    ]);
  },
);

test('publishes no progress of an ended attempt for the next attempt', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.addIdleWorker();
  await rig.report(job, 'failed', { signal: 'SIGTERM', progress: { step: 7 } });
  await fleet.clock.advance(1_000);
  expect(fleet.trail(job).slice(-3)).toEqual(['job.progress', 'job.requeued', 'job.dispatched']);
});

test('ignores the progress of another worker and of an older attempt', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { attempt_id: older } = rig.lastOffer();
  await rig.register();
  await rig.run(job);
  await rig.beat(job, { attempt_id: older, job_progress: { step: 7 } });
  const otherRig = await fleet.addIdleWorker();
  await otherRig.beat(job, { attempt_id: older, job_progress: { step: 8 } });
  await otherRig.report(job, 'running', { attempt_id: older, progress: { step: 9 } });
  await fleet.clock.advance(1_000);
  expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 2, progress: null });
  expect(progressEvents(fleet, job)).toBe(0);
});

test('shows the progress of the previous attempt until the next attempt reports progress', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'failed', { signal: 'SIGTERM', progress: { step: 7, loss: 1 } });
  expect(fleet.job(job).progress).toEqual({ step: 7, loss: 1 });
  await rig.run(job);
  await rig.beat(job, { job_progress: { step: 1 } });
  expect(fleet.job(job).progress).toEqual({ step: 1, loss: 1 });
});
