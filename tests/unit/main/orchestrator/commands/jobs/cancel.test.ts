/** Cancelling in every state: docs/internals/semantics.md, sections 2 and 5. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

test('a job that waits is cancelled at once', async () => {
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

test('a job that waits in its backoff is cancelled at once, and stays so', async () => {
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

describe.each(['dispatched', 'starting', 'running'] as const)('a job that is %s', status => {
  const start = async (protocol: 1 | 2 = 2) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit();
    if (status !== 'dispatched') await rig.report(job, status);
    expect(fleet.job(job).status).toBe(status);
    return { fleet, rig, job };
  };

  test.each([1, 2] as const)('is told to stop on the open stream (protocol %i)', async protocol => {
    const { fleet, rig, job } = await start(protocol);
    expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
    expect(rig.commandsOf('job_cancel')).toEqual([{ type: 'job_cancel', job_id: job, attempt_id: 'a_1' }]);
    expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: job });
  });

  test.each(['cancelled', 'failed'] as const)('is cancelled when its worker says “%s”', async word => {
    const { fleet, rig, job } = await start();
    await fleet.cancel(job);
    expect(valueOf(await rig.report(job, word, { signal: 'SIGTERM' }))).toEqual({ duplicate: false });
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', cause: null });
    expect(rig.view().status).toBe('idle');
  });

  test('completes when its end came first', async () => {
    const { fleet, rig, job } = await start();
    await fleet.cancel(job);
    await rig.report(job, 'completed', { exit_code: 0 });
    expect(fleet.job(job)).toMatchObject({ status: 'completed' });
    expect(fleet.trail(job)).toContain('job.cancelling');
  });

  test('is not dispatched again', async () => {
    const { fleet, rig, job } = await start();
    await fleet.addIdleWorker();
    await fleet.cancel(job);
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    await fleet.clock.advance(100_000);
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', attempt: 1 });
  });
});

test('a cancel is repeated in the reply to every beat until it is confirmed', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  expect(valueOf(await rig.beat(job)).cancel).toBeNull();
  await fleet.cancel(job);
  for (let beat = 0; beat < 3; beat++) {
    await fleet.clock.advance(30_000);
    expect(valueOf(await rig.beat(job))).toMatchObject({ cancel: { job_id: job, attempt_id: 'a_1' } });
  }
  await rig.report(job, 'cancelled');
  expect(valueOf(await rig.beat())).toMatchObject({ cancel: null, abandon_job: null });
});

test('a cancel is repeated at the registration and on the next stream of our own agent', async () => {
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

test('a cancel is never queued for a later stream of the published agent', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(rig);
  await rig.stream.drop();
  await fleet.cancel(job);
  await rig.openStream();
  await fleet.clock.advance(60_000);
  expect(rig.commandsOf('job_cancel')).toEqual([]);
  expect(fleet.job(job).status).toBe('cancelling');
  // It knows one word for that: the job is not its own any more.
  expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job, resume_job: null });
});

test('cancelling twice sends one command', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.cancel(job);
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
  expect(fleet.trail(job).filter(type => type === 'job.cancelling')).toHaveLength(1);
  await rig.report(job, 'cancelled');
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelled');
});

test.each(['completed', 'failed'] as const)('a job that has %s can not be cancelled', async word => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, word, { exit_code: 2 });
  expect(refusalOf(await fleet.cancel(job)).code).toBe('job_final');
  expect(fleet.job(job).status).toBe(word);
});

test('a job that nobody knows', async () => {
  const fleet = await openFleet();
  expect(refusalOf(await fleet.cancel('j_9' as never))).toEqual({ code: 'job_not_found' });
});

test('a cancel whose worker stays silent counts at takeover, and says that it is not confirmed', async () => {
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

test('a job of a silent worker is cancelled when it comes back and confirms', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await fleet.clock.advance(120_000);
  expect(valueOf(await fleet.cancel(job)).status).toBe('cancelling');
  expect(valueOf(await rig.beat(job))).toMatchObject({ cancel: { job_id: job } });
  await rig.report(job, 'cancelled');
  expect(fleet.job(job)).toMatchObject({ status: 'cancelled', error_message: null });
});
