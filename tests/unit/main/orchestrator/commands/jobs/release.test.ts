/**
 * Jobs that wait for a silent worker, and people who release them: docs/internals/semantics.md, section 2. T = 120 s,
 * takeover 160 s.
 */
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import type { JobDetail } from '../../../../../../protocol/job.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';

const T = 120_000;
const takeover = 160_000;
const hour = 3_600_000;

const open = async (protocol: 1 | 2 = 2, job: { readonly max_retries?: number } = {}) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol } });
  return { fleet, rig, job: await fleet.runJob(rig, job) };
};

describe('a job of a silent worker', () => {
  test('says since when its worker is silent, and when another one takes it over', async () => {
    const { fleet, job } = await open();
    expect(fleet.job(job).hold).toBeNull();
    await fleet.clock.advance(T);
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

  test('that said goodbye says the same', async () => {
    const { fleet, rig, job } = await open();
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

  test('is given until then anew after a restart', async () => {
    const { fleet, job } = await open();
    await fleet.clock.advance(T);
    await fleet.restart();
    expect(fleet.job(job).hold).toMatchObject({
      since: '2026-01-01T12:00:00.000Z',
      until: '2026-01-01T12:04:40.000Z',
    });
  });

  test('goes to another worker when it is released, and no retry is used', async () => {
    const { fleet, rig, job } = await open(2, { max_retries: 0 });
    await fleet.clock.advance(T);
    const other = await fleet.addIdleWorker();
    expect(valueOf(await fleet.release(job))).toMatchObject({ status: 'dispatched', worker_id: other.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'given_up', cause: 'worker_lost' });
    expect(fleet.trail(job).slice(-2)).toEqual(['job.requeued', 'job.dispatched']);
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
  });

  test('waits for a worker when there is no other, and its own may still go on with it', async () => {
    const { fleet, rig, job } = await open(2, { max_retries: 0 });
    await fleet.clock.advance(T);
    expect(valueOf(await fleet.release(job))).toMatchObject({ status: 'pending', hold: null });
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('can be released only once', async () => {
    const { fleet, job } = await open();
    await fleet.clock.advance(T);
    await fleet.release(job);
    expect(refusalOf(await fleet.release(job))).toEqual({ code: 'nothing_to_release' });
  });

  test('is not released when its worker came back in the very moment', async () => {
    const { fleet, rig, job } = await open();
    await fleet.clock.advance(T);
    const [, released] = await Promise.all([rig.beat(job), fleet.release(job)]);
    expect(refusalOf(released).code).toBe('nothing_to_release');
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });
});

describe.each([1, 2] as const)('a stop that is not confirmed (protocol %i)', protocol => {
  const cancel = async () => {
    const { fleet, rig, job } = await open(protocol);
    await fleet.clock.advance(5_000);
    await fleet.cancel(job);
    return { fleet, rig, job };
  };
  const unconfirmed = (changes: Partial<JobDetail['hold']>) => ({
    kind: 'unconfirmed',
    since: '2026-01-01T12:00:05.000Z',
    until: null,
    releasable: false,
    ...changes,
  });

  test('by a worker in contact can be released after 60 s, and not before', async () => {
    const { fleet, rig, job } = await cancel();
    for (const ms of [30_000, 29_999]) {
      await fleet.clock.advance(ms);
      await rig.beat(job);
    }
    expect(fleet.job(job).hold).toEqual(unconfirmed({}));
    expect(refusalOf(await fleet.release(job))).toEqual({ code: 'nothing_to_release' });
    expect(fleet.job(job).status).toBe('cancelling');
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold).toEqual(unconfirmed({ releasable: true }));
    expect(valueOf(await fleet.release(job))).toMatchObject({
      status: 'cancelled',
      hold: null,
      error_message: `not confirmed: the trainer may still run on worker ${rig.id}`,
    });
    expect(valueOf(await rig.beat(job)).abandon_job).toBe(job);
  });

  test.each([
    ['back', -hour],
    ['forward', hour],
  ])('after a minute, even when the wall clock is set %s', async (_what, ms) => {
    const { fleet, rig, job } = await cancel();
    fleet.clock.shiftWall(ms);
    await fleet.clock.advance(59_999);
    await rig.beat(job);
    expect(fleet.job(job).hold?.releasable).toBe(false);
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold?.releasable).toBe(true);
  });

  test('over a restart, the minute goes on', async () => {
    const { fleet, rig, job } = await cancel();
    await fleet.clock.advance(30_000);
    await fleet.restart();
    await rig.beat(job);
    await fleet.clock.advance(29_999);
    expect(fleet.job(job).hold?.releasable).toBe(false);
    await fleet.clock.advance(1);
    expect(fleet.job(job).hold?.releasable).toBe(true);
  });

  test('by a silent worker can be released at once, and says when that comes by itself', async () => {
    const { fleet, rig, job } = await open(protocol);
    await fleet.clock.advance(T);
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

  test('by its worker in time needs no release', async () => {
    const { fleet, rig, job } = await cancel();
    await rig.report(job, 'cancelled');
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', hold: null, error_message: null });
    expect(refusalOf(await fleet.release(job)).code).toBe('job_final');
  });

  test('frees the worker, and what its trainer says later is old', async () => {
    const { fleet, rig, job } = await cancel();
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
] as const)('an unconfirmed stop by a %s ends as if its worker were lost', async (why, status, cause) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: 0, ...(why === 'timeout' && { timeout_s: 10 }) });
  if (why === 'drain') await fleet.drain(rig, { deadlineMs: 10_000 });
  await fleet.clock.advance(10_000);
  for (const ms of [30_000, 30_000]) {
    await fleet.clock.advance(ms);
    await rig.beat(job);
  }
  expect(valueOf(await fleet.release(job))).toMatchObject({ status, cause });
  expect(fleet.job(job).attempts[0]?.outcome).toBe(why === 'drain' ? 'given_up' : 'failed');
});

test.each(['pending', 'dispatched', 'starting', 'running'] as const)(
  'a %s job has nothing to be released from',
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

test('a job that nobody knows', async () => {
  const fleet = await openFleet();
  expect(refusalOf(await fleet.release('j_9' as JobId)).code).toBe('job_not_found');
});

test('the moment of takeover is the same for the view and for the deed', async () => {
  const { fleet, job } = await open();
  await fleet.clock.advance(T);
  const until = fleet.job(job).hold?.until;
  await fleet.clock.advance(takeover - T - 1);
  expect(fleet.job(job).status).toBe('recovering');
  await fleet.clock.advance(1);
  expect(fleet.job(job).status).toBe('pending');
  expect(fleet.clock.iso(fleet.clock.wall())).toBe(until);
});
