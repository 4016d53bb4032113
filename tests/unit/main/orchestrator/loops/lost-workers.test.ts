import { describe, expect, it } from 'vitest';
import type { JobId } from '../../../../../protocol/ids.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';

/** Starts the job, and registers its worker without the job. The registration ends the attempt. */
async function loseJob(fleet: Fleet, rig: FleetWorker, job: JobId): Promise<void> {
  await rig.run(job);
  await rig.connect({ currentJobId: undefined });
  const attempt = fleet.job(job).attempts.findLast(({ worker_id }) => worker_id === rig.id);
  expect(attempt).toMatchObject({ cause: 'worker_lost' });
}

/** Creates a job that two workers have lost. Its back-off is 30 seconds. */
async function openLostTwice(options: { readonly storeFile?: string } = {}) {
  const fleet = await openFleet(options);
  const first = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  const second = await fleet.addIdleWorker();
  await loseJob(fleet, first, jobId);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: second.id });
  await first.disconnect();
  await loseJob(fleet, second, jobId);
  return { fleet, first, second, jobId };
}

describe('retrying a job after its second lost worker', () => {
  it('dispatches the job immediately to another idle worker after its second loss', async () => {
    const { fleet, first, second, jobId } = await openLostTwice();
    expect(fleet.job(jobId)).toMatchObject({ status: 'pending', worker_id: second.id });
    await first.connect();
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: first.id, attempt: 3 });
  });

  it('dispatches the job immediately to each further worker that has not lost the job', async () => {
    const fleet = await openFleet();
    const rigs: FleetWorker[] = [];
    const { jobId } = await fleet.submit();
    for (let n = 0; n < 4; n++) rigs.push(await fleet.addIdleWorker());
    for (const rig of rigs.slice(0, 3)) {
      expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: rig.id });
      await loseJob(fleet, rig, jobId);
      await rig.disconnect();
    }
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: rigs[3]?.id });
  });

  it('delays the job by its back-off when only a worker that lost the job is idle', async () => {
    const { fleet, second, jobId } = await openLostTwice();
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      reason: 'Waits until 2026-01-01T12:00:30.000Z for the worker that lost it, or for another one',
    });
    await fleet.clock.advance(29_000);
    expect(fleet.job(jobId).status).toBe('pending');
    await fleet.clock.advance(1_000);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: second.id, attempt: 3 });
  });

  it('dispatches other jobs during the back-off to the worker that lost the job', async () => {
    const { fleet, second } = await openLostTwice();
    expect((await fleet.submit()).workerId).toBe(second.id);
  });

  it('predicts the end of the back-off as the start of the job', async () => {
    const { fleet, second, jobId } = await openLostTwice();
    const outcome = fleet.orchestrator.jobs.explain(jobId);
    expect(outcome).toMatchObject({
      ok: true,
      value: {
        reasons: [{ code: 'backoff' }],
        predicted_start: { in_s: 30 },
        workers: expect.arrayContaining([expect.objectContaining({ worker_id: second.id, fits: false })]),
      },
    });
  });

  it('keeps the back-off for the worker that lost the job across a restart', async () => {
    const { fleet, first, second, jobId } = await openLostTwice();
    await fleet.restart();
    await second.connect();
    expect(fleet.job(jobId).status).toBe('pending');
    await first.connect();
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: first.id });
  });
});

it('keeps a job that failed with an exit code pending during its back-off although a worker is idle', async () => {
  const fleet = await openFleet();
  const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  const { jobId } = await fleet.submit({ retry_on: ['trainer_exit'] });
  for (let n = 0; n < 2; n++) {
    const rig = rigs.find(({ id }) => id === fleet.job(jobId).worker_id);
    await rig?.run(jobId);
    await rig?.report(jobId, 'failed', { exit_code: 1 });
  }
  expect(fleet.job(jobId)).toMatchObject({ status: 'pending', attempt: 2 });
  await fleet.clock.advance(30_000);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 3 });
});
