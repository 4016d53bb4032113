// See docs/internals/semantics.md, sections 2 and 5. The heartbeat timeout T is 120 s, and takeover follows after 160 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

test('cancels a pending job immediately', async () => {
  const fleet = await openFleet();
  const { jobId } = await fleet.submit();
  expect(valueOf(await fleet.cancel(jobId))).toMatchObject({
    status: 'cancelled',
    position: null,
    reason: null,
  });
  const rig = await fleet.addIdleWorker();
  expect(rig.commands).toEqual([]);
  expect(fleet.trail(jobId)).toEqual(['job.submitted', 'job.cancelled']);
});

test('cancels a job in back-off immediately and permanently', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await fleet.cancel(job);
  await fleet.clock.advance(60_000);
  expect(fleet.job(job)).toMatchObject({
    status: 'cancelled',
    attempt: 2,
    attempts: [{}, { outcome: 'requeued' }],
  });
});

describe.each(['dispatched', 'starting', 'running'] as const)('cancelling a %s job', status => {
  const start = async (protocol: 1 | 2 = 2) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit();
    if (status !== 'dispatched') await rig.report(job, status);
    expect(fleet.job(job).status).toBe(status);
    return { fleet, rig, job };
  };

  test.each([1, 2] as const)('sends a cancel on the open stream (protocol %i)', async protocol => {
    const { fleet, rig, job } = await start(protocol);
    expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
    expect(rig.commandsOf('job_cancel')).toEqual([{ type: 'job_cancel', job_id: job, attempt_id: 'a_1' }]);
    expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: job });
  });

  test.each(['cancelled', 'failed'] as const)(
    'cancels the job when its worker reports “%s”',
    async reported => {
      const { fleet, rig, job } = await start();
      await fleet.cancel(job);
      expect(valueOf(await rig.report(job, reported, { signal: 'SIGTERM' }))).toEqual({ duplicate: false });
      expect(fleet.job(job)).toMatchObject({ status: 'cancelled', cause: null });
      expect(rig.view().status).toBe('idle');
    },
  );

  test('completes the job when its worker reports “completed” instead of confirming the cancel', async () => {
    const { fleet, rig, job } = await start();
    await fleet.cancel(job);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(fleet.job(job)).toMatchObject({ status: 'completed' });
    expect(fleet.trail(job)).toContain('job.cancelling');
  });

  test('does not dispatch a cancelled job again', async () => {
    const { fleet, rig, job } = await start();
    await fleet.addIdleWorker();
    await fleet.cancel(job);
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    await fleet.clock.advance(100_000);
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', attempt: 1 });
  });
});

test('repeats a cancel in every heartbeat response until the worker confirms the cancel', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  expect(valueOf(await rig.beat(job)).cancel).toBeNull();
  await fleet.cancel(job);
  for (let heartbeat = 0; heartbeat < 3; heartbeat++) {
    await fleet.clock.advance(30_000);
    expect(valueOf(await rig.beat(job))).toMatchObject({ cancel: { job_id: job, attempt_id: 'a_1' } });
  }
  await rig.report(job, 'cancelled');
  expect(valueOf(await rig.beat())).toMatchObject({ cancel: null, abandon_job: null });
});

test('repeats a cancel at registration and on the next stream of the v2 agent', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.stream.drop();
  await fleet.cancel(job);
  expect(rig.commandsOf('job_cancel')).toEqual([]);
  expect(await rig.register({ currentJobId: job })).toMatchObject({
    cancel: { job_id: job, attempt_id: 'a_1' },
    resume_job: null,
    abandon_job: null,
  });
  await rig.openStream();
  expect(rig.stream.commands).toEqual([{ type: 'job_cancel', job_id: job, attempt_id: 'a_1' }]);
});

test('does not queue a cancel for a later stream of the v1 agent', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(rig);
  await rig.stream.drop();
  await fleet.cancel(job);
  await rig.openStream();
  await fleet.clock.advance(60_000);
  expect(rig.commandsOf('job_cancel')).toEqual([]);
  expect(fleet.job(job).status).toBe('cancelling');
  // The v1 agent supports only `abandon_job` to stop a job.
  expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job, resume_job: null });
});

test('publishes job.cancelling once when a job is cancelled twice', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.cancel(job);
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
  expect(fleet.trail(job).filter(type => type === 'job.cancelling')).toHaveLength(1);
  await rig.report(job, 'cancelled');
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelled');
});

test.each(['completed', 'failed'] as const)('returns job_final when a %s job is cancelled', async status => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, status, { exit_code: 2 });
  expect(refusalOf(await fleet.cancel(job)).code).toBe('job_final');
  expect(fleet.job(job).status).toBe(status);
});

test('returns job_not_found when an unknown job is cancelled', async () => {
  const fleet = await openFleet();
  expect(refusalOf(await fleet.cancel('j_9' as never))).toEqual({ code: 'job_not_found' });
});

test('marks a cancel as unconfirmed at takeover when the worker stays silent', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.cancel(job);
  await fleet.clock.advance(159_999);
  expect(fleet.job(job).status).toBe('cancelling');
  await fleet.clock.advance(1);
  expect(fleet.job(job)).toMatchObject({
    status: 'cancelled',
    error_message: `not confirmed: the trainer may still run on worker ${rig.id}`,
  });
  expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  expect(valueOf(await rig.beat(job))).toMatchObject({ abandon_job: job, cancel: null });
});

test('cancels the job of a silent worker when the worker returns and confirms the cancel', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.clock.advance(120_000);
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
  expect(valueOf(await rig.beat(job))).toMatchObject({ cancel: { job_id: job } });
  await rig.report(job, 'cancelled');
  expect(fleet.job(job)).toMatchObject({ status: 'cancelled', error_message: null });
});
