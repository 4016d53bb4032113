// See docs/internals/semantics.md, section 2. T, the heartbeat timeout, is 120 s. Takeover follows after 160 s.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import type { JobDetail } from '../../../../../../protocol/job.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const heartbeatTimeoutMs = 120_000;
const takeoverMs = 160_000;
const hourMs = 3_600_000;

const openWithJob = async (protocol: 1 | 2 = 2, job: { readonly max_retries?: number } = {}) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol } });
  return { fleet, rig, job: await fleet.runJob(rig, job) };
};

describe('releasing a job of a silent worker', () => {
  test('shows in the hold since when the worker is silent and when the takeover happens', async () => {
    const { fleet, job } = await openWithJob();
    expect(fleet.job(job).hold).toBeNull();
    await fleet.clock.advance(heartbeatTimeoutMs);
    expect(fleet.job(job)).toMatchObject({
      status: 'recovering',
      hold: {
        kind: 'silent',
        since: '2026-01-01T12:00:00.000Z',
        until: '2026-01-01T12:02:40.000Z',
        releasable: true,
      },
    });
  });

  test('shows the takeover time for a worker that disconnected', async () => {
    const { fleet, rig, job } = await openWithJob();
    await fleet.clock.advance(10_000);
    await rig.beat(job);
    await rig.disconnect();
    expect(fleet.job(job).hold).toEqual({
      kind: 'silent',
      since: '2026-01-01T12:00:10.000Z',
      until: '2026-01-01T12:02:50.000Z',
      releasable: true,
    });
  });

  test('restarts the takeover deadline after a restart of the orchestrator', async () => {
    const { fleet, job } = await openWithJob();
    await fleet.clock.advance(heartbeatTimeoutMs);
    await fleet.restart();
    expect(fleet.job(job).hold).toMatchObject({
      since: '2026-01-01T12:00:00.000Z',
      until: '2026-01-01T12:04:40.000Z',
    });
  });

  test('dispatches a released job to another worker without using a retry', async () => {
    const { fleet, rig, job } = await openWithJob(2, { max_retries: 0 });
    await fleet.clock.advance(heartbeatTimeoutMs);
    const otherRig = await fleet.addIdleWorker();
    expect(valueOf(await fleet.release(job))).toMatchObject({ status: 'dispatched', worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'given_up', cause: 'worker_lost' });
    expect(fleet.trail(job).slice(-2)).toEqual(['job.requeued', 'job.dispatched']);
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  });

  test('keeps a released job pending without another worker, and lets its former worker resume the job', async () => {
    const { fleet, rig, job } = await openWithJob(2, { max_retries: 0 });
    await fleet.clock.advance(heartbeatTimeoutMs);
    expect(valueOf(await fleet.release(job))).toMatchObject({ status: 'pending', hold: null });
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('returns nothing_to_release for a second release', async () => {
    const { fleet, job } = await openWithJob();
    await fleet.clock.advance(heartbeatTimeoutMs);
    await fleet.release(job);
    expect(refusalOf(await fleet.release(job))).toEqual({ code: 'nothing_to_release' });
  });

  test('returns nothing_to_release when the worker reconnects at the same time', async () => {
    const { fleet, rig, job } = await openWithJob();
    await fleet.clock.advance(heartbeatTimeoutMs);
    const [, released] = await Promise.all([rig.beat(job), fleet.release(job)]);
    expect(refusalOf(released).code).toBe('nothing_to_release');
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });
});

describe.each([1, 2] as const)('an unconfirmed stop (protocol %i)', protocol => {
  const openCancelled = async () => {
    const { fleet, rig, job } = await openWithJob(protocol);
    await fleet.clock.advance(5_000);
    await fleet.cancel(job);
    return { fleet, rig, job };
  };
  const makeHold = (changes: Partial<JobDetail['hold']>) => ({
    kind: 'unconfirmed',
    since: '2026-01-01T12:00:05.000Z',
    until: null,
    releasable: false,
    ...changes,
  });

  test('allows releasing a job after 60 s when its connected worker does not confirm the stop', async () => {
    const { fleet, rig, job } = await openCancelled();
    for (const intervalMs of [30_000, 29_999]) {
      await fleet.clock.advance(intervalMs);
      await rig.beat(job);
    }
    expect(fleet.job(job).hold).toEqual(makeHold({}));
    expect(refusalOf(await fleet.release(job))).toEqual({ code: 'nothing_to_release' });
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold).toEqual(makeHold({ releasable: true }));
    expect(valueOf(await fleet.release(job))).toMatchObject({
      status: 'cancelled',
      hold: null,
      error_message: `not confirmed: the trainer may still run on worker ${rig.id}`,
    });
    expect(valueOf(await rig.beat(job)).abandon_job).toBe(job);
  });

  test.each([
    ['back', -hourMs],
    ['forward', hourMs],
  ])('allows a release after 60 s even when the wall clock is set %s', async (_case, ms) => {
    const { fleet, rig, job } = await openCancelled();
    fleet.clock.shiftWall(ms);
    await fleet.clock.advance(59_999);
    await rig.beat(job);
    expect(fleet.job(job).hold?.releasable).toBe(false);
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold?.releasable).toBe(true);
  });

  test('counts the 60 s before a release across a restart', async () => {
    const { fleet, rig, job } = await openCancelled();
    await fleet.clock.advance(30_000);
    await fleet.restart();
    await rig.beat(job);
    await fleet.clock.advance(29_999);
    expect(fleet.job(job).hold?.releasable).toBe(false);
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold?.releasable).toBe(true);
  });

  test('allows an immediate release when the worker is silent, and shows the takeover time', async () => {
    const { fleet, rig, job } = await openWithJob(protocol);
    await fleet.clock.advance(heartbeatTimeoutMs);
    await fleet.cancel(job);
    expect(fleet.job(job).hold).toEqual({
      kind: 'unconfirmed',
      since: '2026-01-01T12:02:00.000Z',
      until: '2026-01-01T12:02:40.000Z',
      releasable: true,
    });
    expect(valueOf(await fleet.release(job)).status).toBe('cancelled');
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  });

  test('returns job_final for a release after the worker has confirmed the stop', async () => {
    const { fleet, rig, job } = await openCancelled();
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', hold: null, error_message: null });
    expect(refusalOf(await fleet.release(job)).code).toBe('job_final');
  });

  test('frees the worker after a release and refuses later reports of its trainer', async () => {
    const { fleet, rig, job } = await openCancelled();
    await fleet.clock.advance(60_000);
    await fleet.release(job);
    await fleet.clock.advance(1_000);
    const { jobId: next } = await fleet.submit();
    expect(rig.lastOffer().job_id).toBe(next);
    expect(await rig.report(job, 'cancelled')).toMatchObject({ ok: true, value: { duplicate: true } });
    expect(refusalOf(await rig.report(job, 'completed')).code).toBe('job_final');
  });
});

test.each([
  ['drain', 'pending', null],
  ['timeout', 'failed', 'timeout'],
] as const)(
  'releases a job whose stop by %s is unconfirmed, and sets its status to %s',
  async (why, status, cause) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0, ...(why === 'timeout' && { timeout_s: 10 }) });
    if (why === 'drain') await fleet.drain(rig, { deadlineMs: 10_000 });
    await fleet.clock.advance(10_000);
    for (const intervalMs of [30_000, 30_000]) {
      await fleet.clock.advance(intervalMs);
      await rig.beat(job);
    }
    expect(valueOf(await fleet.release(job))).toMatchObject({ status, cause });
    expect(fleet.job(job).attempts[0]?.outcome).toBe(why === 'drain' ? 'given_up' : 'failed');
  },
);

test.each(['pending', 'dispatched', 'starting', 'running'] as const)(
  'returns nothing_to_release for a %s job',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker(status === 'pending' ? { agent: { gpus: 0 } } : {});
    const { jobId: job } = await fleet.submit({ gpu_count: 1 });
    if (status === 'starting' || status === 'running') await rig.report(job, status);
    expect(fleet.job(job)).toMatchObject({ status, hold: null });
    expect(refusalOf(await fleet.release(job))).toEqual({ code: 'nothing_to_release' });
    expect(fleet.job(job).status).toBe(status);
  },
);

test('returns job_not_found when an unknown job is released', async () => {
  const fleet = await openFleet();
  expect(refusalOf(await fleet.release('j_9' as JobId)).code).toBe('job_not_found');
});

test('takes a job over exactly at the time that the job shows in hold.until', async () => {
  const { fleet, job } = await openWithJob();
  await fleet.clock.advance(heartbeatTimeoutMs);
  const until = fleet.job(job).hold?.until;
  await fleet.clock.advance(takeoverMs - heartbeatTimeoutMs - 1);
  expect(fleet.job(job).status).toBe('recovering');
  await fleet.clock.advance(1);
  expect(fleet.job(job).status).toBe('pending');
  expect(fleet.clock.iso(fleet.clock.wall())).toBe(until);
});
