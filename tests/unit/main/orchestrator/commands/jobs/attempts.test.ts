// See docs/internals/semantics.md, section 2.
import { expect, test } from 'vitest';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';

test('moves a job from starting through running to completed as its worker reports', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(1_000);
  expect(valueOf(await rig.report(jobId, 'starting'))).toEqual({ duplicate: false });
  expect(fleet.job(jobId).status).toBe('starting');
  await fleet.clock.advance(1_000);
  await rig.report(jobId, 'running');
  expect(fleet.job(jobId).status).toBe('running');
  await fleet.clock.advance(1_000);
  await rig.report(jobId, 'completed', { exit_code: 0 });
  expect(fleet.job(jobId)).toMatchObject({
    status: 'completed',
    queued_at: '2026-01-01T12:00:00.000Z',
    started_at: '2026-01-01T12:00:01.000Z',
    completed_at: '2026-01-01T12:00:03.000Z',
    cause: null,
    attempts: [{ attempt: 1, worker_id: rig.id, outcome: 'completed', exit_code: 0 }],
  });
  expect(fleet.trail(jobId)).toEqual([
    'job.submitted',
    'job.dispatched',
    'job.starting',
    'job.running',
    'job.completed',
  ]);
});

test.each([
  ['starting', 'starting'],
  ['training', 'running'],
] as const)('claims an offer when the first report of the v1 agent is “%s”', async (reported, status) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await rig.report(jobId, reported);
  expect(fleet.job(jobId).status).toBe(status);
});

test('claims an offer when a heartbeat names the job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await rig.beat(jobId);
  expect(fleet.job(jobId).status).toBe('starting');
  await fleet.clock.advance(60_000);
  expect(rig.commandsOf('job_submit')).toHaveLength(1);
});

test.each([
  ['an exit code', { exit_code: 1, error: 'boom' }, 'trainer_exit'],
  ["the v1 agent's error message", { error: 'Training exited with code 3' }, 'trainer_exit'],
  ['a signal', { signal: 'SIGSEGV' }, 'trainer_signal'],
  ['a negative exit code', { error: 'Training exited with code -9' }, 'trainer_signal'],
  ['out of memory', { exit_code: 1, error: 'torch.OutOfMemoryError: CUDA out of memory' }, 'out_of_memory'],
  ['a failed start', { cause: 'start_failed', error: 'no python' }, 'start_failed'],
  ['an invalid config', { cause: 'invalid_config' }, 'invalid_config'],
  ['a rejection', { cause: 'rejected' }, 'rejected'],
] as const)('does not retry a job that failed because of %s', async (_case, end, cause) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'failed', end);
  await fleet.clock.advance(60_000);
  expect(fleet.job(job)).toMatchObject({ status: 'failed', cause, attempt: 1 });
  expect(fleet.job(job).error_message).toBe('error' in end ? end.error : null);
});

test('dispatches a preempted job to another worker and uses a retry', async () => {
  const fleet = await openFleet();
  const spot = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const job = await fleet.runJob(spot, { max_retries: 1 });
  const otherRig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await spot.report(job, 'failed', { error: 'Training exited with code -15' });
  await spot.disconnect();
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
  expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'preempted' });
  await otherRig.run(job);
  await otherRig.report(job, 'failed', { error: 'Training exited with code -15' });
  expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'preempted', attempt: 2 });
});

test('dispatches a preempted job to the same worker when no other worker fits', async () => {
  const fleet = await openFleet();
  await fleet.addIdleWorker({ agent: { gpus: 0 } });
  const rig = await fleet.addIdleWorker({ agent: { gpus: 1 } });
  const job = await fleet.runJob(rig, { gpu_count: 1 });
  await rig.report(job, 'cancelled');
  expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: rig.id });
  expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'preempted' });
});

test('uses no retry for the first three preemptions of a job before its trainer starts', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  for (const attempt of [1, 2, 3, 4]) {
    await fleet.clock.advance(1_000);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt });
    await rig.report(jobId, 'starting');
    await rig.report(jobId, 'failed', { cause: 'preempted', saved: false });
  }
  expect(fleet.job(jobId)).toMatchObject({ status: 'failed', cause: 'preempted', attempt: 4 });
});

test('delays retries by 0, 30 and 120 s, and then always by 600 s', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: 5 });
  for (const waitMs of [0, 30_000, 120_000, 600_000, 600_000]) {
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    if (waitMs > 0) {
      // The worker sends a heartbeat each minute. Without heartbeats, the worker would be offline when the retry is due.
      for (let left = waitMs - 1; left > 0; left -= 60_000) {
        await fleet.clock.advance(Math.min(left, 60_000));
        await rig.beat();
      }
      expect(fleet.job(job)).toMatchObject({
        status: 'pending',
        reason: expect.stringContaining('Waits until'),
      });
      await fleet.clock.advance(1);
    }
    expect(fleet.job(job).status).toBe('dispatched');
    await rig.run(job);
  }
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'preempted', attempt: 6, max_attempts: 6 });
});

test('dispatches jobs behind a job in back-off', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { priority: 50 });
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  await rig.run(job);
  await rig.report(job, 'failed', { signal: 'SIGTERM' });
  expect(await fleet.submit({ priority: 0 })).toMatchObject({ workerId: rig.id });
});

test.each([1, 2] as const)(
  'ends the attempt of a worker (protocol %i) that registers without its claimed job',
  async protocol => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const job = await fleet.runJob(rig);
    const otherRig = await fleet.addIdleWorker();
    expect(await rig.register()).toMatchObject({ resume_job: null, abandon_job: null });
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'worker_lost' });
  },
);

test('resumes a job when its worker registers with that job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  expect(await rig.register({ currentJobId: job })).toMatchObject({
    resume_job: { job_id: job, attempt_id: 'a_1', status: 'running', config_name: 'inline' },
    abandon_job: null,
  });
  expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
});

test('repeats the offer to a worker that registers without a job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  const offer = rig.lastOffer();
  await rig.connect();
  expect(rig.stream.commands).toEqual([offer]);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
});

test('refuses a report about an unknown job and tells the agent to stop that job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  await rig.report(job, 'completed');
  const unknown = 'j_9' as typeof job;
  expect(await rig.register({ currentJobId: unknown })).toMatchObject({ abandon_job: unknown });
  expect(refusalOf(await rig.report(unknown, 'running'))).toEqual({ code: 'job_not_found', action: 'stop' });
});
