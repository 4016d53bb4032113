// See docs/internals/semantics.md, section 1.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../support/fleet-outcome.ts';
import { ada, hashOf } from '../../../../support/fleet.ts';
import { everyJob } from '../../../../support/every-job.ts';

describe('disconnecting a worker', () => {
  test('marks a worker offline immediately and ends its stream when it disconnects', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    expect(await rig.disconnect()).toEqual({ ok: true, value: { success: true } });
    expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'goodbye' });
    expect(rig.stream.ended).toBe(true);
    expect(await fleet.submit()).toMatchObject({ workerId: null });
  });

  test('withdraws the unclaimed offer of a disconnected worker, and dispatches the job to another worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ max_retries: 0 });
    const otherRig = await fleet.addIdleWorker();
    await rig.disconnect();
    expect(otherRig.lastOffer().job_id).toBe(jobId);
    expect(fleet.job(jobId).attempts[0]).toMatchObject({ outcome: 'withdrawn', cause: null });
  });

  test('shows a disconnected worker as idle after it connects again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await rig.disconnect();
    await rig.connect();
    expect(rig.view().status).toBe('idle');
  });

  test('records one event when a worker disconnects twice', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await rig.disconnect();
    await rig.disconnect();
    expect(fleet.trail(rig.id).filter(type => type === 'worker.offline')).toHaveLength(1);
  });
});

describe('worker streams', () => {
  test('keeps the job of a worker whose stream closes', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.stream.drop();
    expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: job });
    expect(rig.view().stream_closed_at).toMatch(/Z$/);
    await rig.report(job, 'completed');
    expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'no_stream' });
    expect(await fleet.submit()).toMatchObject({ workerId: null });
    expect(fleet.trail(rig.id)).toContain('worker.stream_closed');
  });

  test('replaces a stream with a newer stream, and ignores the late close of the older stream', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const older = rig.stream;
    const newer = await rig.openStream();
    expect(older.ended).toBe(true);
    await older.drop();
    expect(rig.view()).toMatchObject({ status: 'idle', stream_closed_at: null });
    expect(fleet.trail(rig.id)).not.toContain('worker.stream_closed');
    const { jobId } = await fleet.submit();
    expect(newer.commands).toMatchObject([{ type: 'job_submit', job_id: jobId }]);
    expect(older.commands).toEqual([]);
  });

  test('keeps a stream open when another worker opens a stream', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.addIdleWorker();
    expect(rig.stream.ended).toBe(false);
  });
});

describe('rotating a token immediately', () => {
  test('ends the stream and invalidates the old token before the rotation returns', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).toBe(rig.id);
    // Reads the state of the stream as soon as the call returns, before any other task can run.
    const { outcome, isEnded } = await fleet.orchestrator.workers
      .rotateToken(rig.id, 'now', ada)
      .then(result => ({ outcome: result, isEnded: rig.stream.ended }));
    expect(isEnded).toBe(true);
    expect(outcome).toMatchObject({ ok: true, value: { workerId: rig.id, name: 'rig-1', persistent: true } });
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).toBeNull();
    expect(fleet.orchestrator.workers.byTokenHash(hashOf('wt_2'))).toBe(rig.id);
  });

  test('keeps a running job when the token is rotated', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.orchestrator.workers.rotateToken(rig.id, 'now', ada);
    expect(await rig.register({ currentJobId: job })).toMatchObject({ resume_job: { job_id: job } });
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('returns worker_not_found for a rotation of an unknown worker', async () => {
    const fleet = await openFleet();
    expect(refusalOf(await fleet.orchestrator.workers.rotateToken('w_9' as never, 'now', ada)).code).toBe(
      'worker_not_found',
    );
  });
});

describe('deleting a worker', () => {
  test.each<[string, 'idle' | 'busy' | 'connecting' | 'draining']>([
    ['idle', 'idle'],
    ['busy', 'busy'],
    ['without a stream', 'connecting'],
    ['draining', 'draining'],
  ])('refuses to delete a worker that is %s', async (_case, status) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    if (status === 'busy') await fleet.runJob(rig);
    if (status === 'connecting') await rig.stream.drop();
    if (status === 'draining') await fleet.drain(rig);
    expect(rig.view().status).toBe(status);
    expect(refusalOf(await fleet.orchestrator.workers.remove(rig.id, ada)).code).toBe('worker_not_offline');
    expect(rig.view().status).toBe(status);
  });

  test('deletes a worker that never connected', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    expect(valueOf(await fleet.orchestrator.workers.remove(rig.id, ada))).toEqual({ workerId: rig.id });
    expect(fleet.orchestrator.workers.list(undefined)).toEqual([]);
  });

  test('deletes an offline worker and its token, and keeps its jobs', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'old-rig' });
    const job = await fleet.runJob(rig);
    await rig.report(job, 'completed');
    await rig.disconnect();
    expect(valueOf(await fleet.orchestrator.workers.remove(rig.id, ada))).toEqual({ workerId: rig.id });
    expect(fleet.orchestrator.workers.list(undefined)).toEqual([]);
    expect(refusalOf(fleet.orchestrator.workers.get(rig.id)).code).toBe('worker_not_found');
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).toBeNull();
    expect(fleet.job(job)).toMatchObject({ status: 'completed', worker_id: rig.id, worker_name: 'old-rig' });
    expect(fleet.events.at(-1)).toMatchObject({ type: 'worker.deleted', worker_id: rig.id, worker: null });
    const { entries } = fleet.orchestrator.jobs.list({
      ...everyJob,
      includeFinal: true,
      limit: 9,
      offset: 0,
    });
    expect(entries.map(({ id }) => id)).toEqual([job]);
  });

  test('ends the stream of a silent worker when it is deleted', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(120_000);
    expect(rig.stream.ended).toBe(false);
    expect((await fleet.orchestrator.workers.remove(rig.id, ada)).ok).toBe(true);
    expect(rig.stream.ended).toBe(true);
  });

  test('refuses the calls of an agent whose worker was deleted, and dispatches no job to its stream', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'completed');
    await rig.disconnect();
    await fleet.orchestrator.workers.remove(rig.id, ada);
    expect(refusalOf(await rig.beat()).code).toBe('token_invalid');
    expect(refusalOf(await rig.report(job, 'completed')).code).toBe('token_invalid');
    expect(refusalOf(await rig.disconnect()).code).toBe('token_invalid');
    await expect(rig.register()).rejects.toThrow('token_invalid');
    await rig.openStream();
    expect(await fleet.submit()).toMatchObject({ workerId: null });
  });

  test('dispatches a job again after its worker was deleted', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.disconnect();
    await fleet.clock.advance(160_000);
    expect(fleet.job(job).status).toBe('pending');
    await fleet.orchestrator.workers.remove(rig.id, ada);
    const otherRig = await fleet.addIdleWorker();
    await otherRig.run(job);
    await otherRig.report(job, 'completed');
    expect(fleet.job(job)).toMatchObject({
      status: 'completed',
      attempts: [{ worker_id: rig.id }, { worker_id: otherRig.id }],
    });
  });

  test('refuses until the takeover to delete a worker that may still run a job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    await rig.disconnect();
    expect(refusalOf(await fleet.orchestrator.workers.remove(rig.id, ada)).code).toBe('worker_not_offline');
    await fleet.clock.advance(160_000);
    expect((await fleet.orchestrator.workers.remove(rig.id, ada)).ok).toBe(true);
  });
});

describe('listing workers', () => {
  test('filters workers by status', async () => {
    const fleet = await openFleet();
    const idleRig = await fleet.addIdleWorker();
    const offlineRig = await fleet.addIdleWorker();
    await offlineRig.disconnect();
    const ids = (status: 'idle' | 'offline' | 'busy' | undefined) =>
      fleet.orchestrator.workers.list(status).map(({ id }) => id);
    expect(ids(undefined)).toEqual([idleRig.id, offlineRig.id]);
    expect(ids('idle')).toEqual([idleRig.id]);
    expect(ids('offline')).toEqual([offlineRig.id]);
    expect(ids('busy')).toEqual([]);
  });
});

test('takes a job over exactly on time when T/3 is not a whole number of milliseconds', async () => {
  const fleet = await openFleet({ heartbeatTimeoutMs: 40_000 });
  const rig = await fleet.addIdleWorker();
  const { jobId: job } = await fleet.submit({ max_retries: 0 });
  await rig.run(job);
  // The takeover is due 4/3 of 40 s, or 53,333.3 ms, after the last contact.
  await fleet.clock.advance(53_000);
  expect(fleet.job(job).status).toBe('recovering');
  await fleet.clock.advance(334);
  expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
});
