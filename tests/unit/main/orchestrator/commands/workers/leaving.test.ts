// See docs/internals/semantics.md, sections 1 and 5. T, the heartbeat timeout, is 120 s. An offer is withdrawn after 45 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import { ada } from '../../../../../support/fleet.ts';

describe('an ephemeral worker', () => {
  test('tells an ephemeral worker to shut down after its job, and offers the worker no other job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig);
    const { jobId: next } = await fleet.submit();
    expect(rig.commandsOf('shutdown')).toEqual([]);
    await rig.report(job, 'completed');
    expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
    expect(rig.view()).toMatchObject({ status: 'busy', status_reason: 'leaving' });
    await fleet.clock.advance(60_000);
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
    expect(fleet.job(next).status).toBe('pending');
  });

  test.each(['failed', 'cancelled'] as const)(
    'tells an ephemeral worker to shut down after a job that ended as “%s”',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
      const job = await fleet.runJob(rig);
      await fleet.cancel(job);
      await rig.report(job, status);
      expect(rig.commandsOf('shutdown')).toHaveLength(1);
    },
  );

  test('offers an ephemeral worker no second attempt of the same job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig);
    await rig.report(job, 'failed', { signal: 'SIGTERM' });
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempt: 1 });
    expect(rig.commandsOf('shutdown')).toHaveLength(1);
  });

  test('offers an ephemeral worker a job again when the worker did not claim the first offer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const { jobId } = await fleet.submit();
    await fleet.clock.advance(45_000);
    expect(rig.commandsOf('shutdown')).toEqual([]);
    expect(rig.lastOffer()).toMatchObject({ job_id: jobId, attempt_id: 'a_2' });
  });

  test('does not shut an ephemeral worker down when the worker resumes an earlier job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const { jobId: first } = await fleet.submit();
    const { jobId: second } = await fleet.submit({ priority: 30 });
    await fleet.clock.advance(45_000);
    await rig.run(second);
    await rig.register({ currentJobId: first });
    expect(fleet.job(first).status).toBe('running');
    expect(rig.commandsOf('shutdown')).toEqual([]);
  });

  test('repeats the shutdown when an ephemeral worker opens another stream instead of exiting', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.report(await fleet.runJob(rig), 'completed');
    await rig.connect();
    expect(rig.stream.commands).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
  });

  test('dispatches a job to an ephemeral worker that left and started again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.report(await fleet.runJob(rig), 'completed');
    await rig.disconnect();
    const { jobId } = await fleet.submit();
    await rig.connect({ startId: 'second-start' });
    expect(rig.lastOffer().job_id).toBe(jobId);
  });

  test('shuts an ephemeral worker down when its attempt was taken over during its silence', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(160_000);
    await rig.connect();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
    expect(rig.stream.commands).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
    expect(fleet.job(job).status).toBe('pending');
  });
});

describe('draining a worker', () => {
  test('shows the reason and the user of a drain, and records an event', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    expect(await fleet.drain(rig, { reason: 'new disk' })).toMatchObject({
      status: 'draining',
      status_reason: 'new disk',
      drain: { reason: 'new disk', by: 'ada', since: '2026-01-01T12:00:00.000Z', deadline: null },
    });
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.draining');
  });

  test('keeps the first reason when a worker is drained twice', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.drain(rig, { reason: 'new disk' });
    expect(await fleet.drain(rig, { reason: 'another' })).toMatchObject({ drain: { reason: 'new disk' } });
    expect(fleet.trail(rig.id).filter(type => type === 'worker.draining')).toHaveLength(1);
  });

  test('lets the running job of a draining worker finish, and sends no further offer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const { jobId: next } = await fleet.submit();
    await fleet.drain(rig);
    expect(fleet.job(job).status).toBe('running');
    await rig.report(job, 'completed');
    await fleet.clock.advance(100_000);
    await rig.beat();
    await rig.connect();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
    expect(rig.commandsOf('shutdown')).toEqual([]);
    expect(rig.view().status).toBe('draining');
    expect(fleet.job(next).reason).toContain('1 draining');
  });

  test('applies a drain before a submission in the same transaction', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const [, submitted] = await Promise.all([fleet.drain(rig), fleet.submit()]);
    expect(submitted.workerId).toBeNull();
    expect(rig.commandsOf('job_submit')).toEqual([]);
  });

  test('keeps a worker draining across heartbeats, registrations, silence and restarts', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.drain(rig);
    const { jobId } = await fleet.submit();
    await rig.beat(null, { status: 'idle' });
    await rig.connect({ startId: 'second-start' });
    await fleet.clock.advance(120_000);
    expect(rig.view().status).toBe('offline');
    await rig.beat();
    expect(rig.view().status).toBe('draining');
    await fleet.restart();
    await rig.connect();
    expect(rig.view().status).toBe('draining');
    expect(fleet.job(jobId).status).toBe('pending');
    expect(rig.commandsOf('job_submit')).toEqual([]);
  });

  test('shuts an idle ephemeral worker down immediately when it is drained', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await fleet.drain(rig);
    expect(rig.commands).toEqual([{ type: 'shutdown', reason: 'drained' }]);
  });

  test('shuts a busy ephemeral worker down only after its job when it is drained', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig);
    await fleet.drain(rig);
    await rig.connect({ currentJobId: job });
    await rig.beat(job);
    expect(rig.commandsOf('shutdown')).toEqual([]);
    await rig.report(job, 'completed');
    expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'drained' }]);
  });

  test('lets a draining worker claim an offer that was already sent', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const { jobId } = await fleet.submit();
    await fleet.drain(rig);
    expect(rig.commandsOf('shutdown')).toEqual([]);
    await rig.run(jobId);
    expect(fleet.job(jobId).status).toBe('running');
  });

  test('dispatches a job to a worker immediately after the worker is undrained', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.drain(rig);
    const { jobId } = await fleet.submit();
    expect(await fleet.undrain(rig)).toMatchObject({ status: 'busy', drain: null });
    expect(rig.lastOffer().job_id).toBe(jobId);
    expect(fleet.trail(rig.id)).toContain('worker.undrained');
  });

  test('returns worker_not_found for a drain or undrain of an unknown worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await fleet.orchestrator.workers.remove(rig.id, ada);
    const request = { reason: null, deadlineMs: null };
    expect(refusalOf(await fleet.orchestrator.workers.drain(rig.id, request, ada)).code).toBe(
      'worker_not_found',
    );
    expect(refusalOf(await fleet.orchestrator.workers.undrain(rig.id, ada)).code).toBe('worker_not_found');
  });
});
