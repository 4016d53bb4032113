// See docs/internals/semantics.md, section 5. T, the heartbeat timeout, is 120 s. Two heartbeats that do not name the
// worker's job end its attempt only if at least 20 s lie between the heartbeats.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const minGapMs = 20_000;
// Heartbeats that do not name the job.
const heartbeats: readonly (readonly [string, (rig: FleetWorker) => ReturnType<FleetWorker['beat']>])[] = [
  ['names no job', rig => rig.beat()],
  ['names another job', rig => rig.beat('j_9' as JobId)],
];

describe.each([1, 2] as const)('heartbeats without the job (protocol %i)', protocol => {
  describe.each(['starting', 'running', 'recovering', 'cancelling'] as const)('a %s job', status => {
    const start = async () => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ agent: { protocol } });
      const { jobId: job } = await fleet.submit({ max_retries: 0 });
      await rig.report(job, 'starting');
      if (status !== 'starting') await rig.report(job, 'running');
      if (status === 'recovering') await fleet.clock.advance(120_000);
      if (status === 'cancelling') await fleet.cancel(job);
      expect(fleet.job(job).status).toBe(status);
      return { fleet, rig, job };
    };

    test.each(heartbeats)(
      'keeps the attempt after a single heartbeat that %s',
      async (_case, sendHeartbeat) => {
        const { fleet, rig, job } = await start();
        await sendHeartbeat(rig);
        await fleet.clock.advance(60_000);
        expect(fleet.job(job)).toMatchObject({ status, attempt: 1 });
        expect(rig.stream.ended).toBe(false);
      },
    );

    test('keeps the attempt after heartbeats that are too close together', async () => {
      const { fleet, rig, job } = await start();
      await rig.beat();
      await fleet.clock.advance(minGapMs - 1);
      await rig.beat();
      expect(fleet.job(job)).toMatchObject({ status, attempt: 1 });
      expect(rig.stream.ended).toBe(false);
    });

    test('keeps the attempt when the worker names the job between two heartbeats without the job', async () => {
      const { fleet, rig, job } = await start();
      for (const [index, message] of ['heartbeat', 'report', 'registration', 'heartbeat'].entries()) {
        await rig.beat();
        await fleet.clock.advance(minGapMs / 2);
        if (message === 'heartbeat') await rig.beat(job);
        if (message === 'report') await rig.report(job, status === 'starting' ? 'starting' : 'running');
        if (message === 'registration') await rig.register({ currentJobId: job });
        await fleet.clock.advance(minGapMs / 2);
        await rig.beat();
        expect([index, fleet.job(job).attempt, rig.stream.ended]).toEqual([index, 1, false]);
        await rig.beat(job);
      }
      expect(fleet.job(job).status).toBe(status === 'recovering' ? 'running' : status);
    });

    test('accepts a report that arrives between two heartbeats without the job', async () => {
      const { fleet, rig, job } = await start();
      await rig.beat();
      await rig.report(job, 'completed');
      await fleet.clock.advance(minGapMs);
      await rig.beat();
      expect(fleet.job(job)).toMatchObject({ status: 'completed', attempt: 1 });
    });
  });
});

describe('heartbeats of the v2 agent without its job', () => {
  test.each(heartbeats)('ends the attempt when a second heartbeat %s', async (_case, sendHeartbeat) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const otherRig = await fleet.addIdleWorker();
    await rig.beat();
    await fleet.clock.advance(minGapMs);
    expect((await sendHeartbeat(rig)).ok).toBe(true);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'worker_lost' });
    // The attempt has ended, so a later report about it is refused.
    expect(refusalOf(await rig.report(job, 'running')).code).toBe('attempt_superseded');
  });

  test('ends the attempt of a recovering job when its worker returns without the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(120_000);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'recovering', hold: { kind: 'silent', until: null } });
    await fleet.clock.advance(minGapMs);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('confirms a cancel when the worker no longer names the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    expect(valueOf(await rig.beat()).cancel).toMatchObject({ job_id: job });
    await fleet.clock.advance(minGapMs);
    expect(valueOf(await rig.beat()).cancel).toBeNull();
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', error_message: null });
    expect(rig.view().status).toBe('idle');
  });

  test('confirms the cancel of an offer that the worker never claimed', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    await rig.beat();
    await fleet.clock.advance(minGapMs);
    await rig.beat();
    expect(fleet.job(jobId)).toMatchObject({ status: 'cancelled', attempt: 1 });
    expect(await fleet.submit()).toMatchObject({ workerId: rig.id });
  });

  test('ends the attempt even when a report about another job arrives between two heartbeats without the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const former = await fleet.runJob(rig);
    await rig.report(former, 'completed');
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.beat();
    await fleet.clock.advance(minGapMs / 2);
    await rig.report(former, 'completed');
    await fleet.clock.advance(minGapMs / 2);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('keeps an open offer although the heartbeats do not name the offered job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit();
    for (let n = 0; n < 4; n++) {
      await fleet.clock.advance(10_000);
      await rig.beat();
    }
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await rig.run(jobId);
    await rig.beat();
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });
});

describe('heartbeats of the v1 agent without its job', () => {
  const start = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.beat();
    await fleet.clock.advance(minGapMs);
    await rig.beat();
    return { fleet, rig, job };
  };

  test('ends the stream to make the v1 agent register, and keeps its job until then', async () => {
    const { fleet, rig, job } = await start();
    expect(rig.stream.ended).toBe(true);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('resumes the job that the v1 agent names when it registers', async () => {
    const { fleet, rig, job } = await start();
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(minGapMs);
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.stream.ended).toBe(false);
  });

  test('ends the attempt when the v1 agent registers without the job', async () => {
    const { fleet, rig, job } = await start();
    await rig.connect();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('ends the stream again when the v1 agent reopens the stream without registering', async () => {
    const { fleet, rig } = await start();
    await rig.openStream();
    await rig.beat();
    await fleet.clock.advance(minGapMs);
    await rig.beat();
    expect(rig.stream.ended).toBe(true);
  });

  test('ends the stream when the v1 agent does not name a cancelled offer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    await rig.beat();
    await fleet.clock.advance(minGapMs);
    await rig.beat();
    expect(fleet.job(jobId).status).toBe('cancelling');
    expect(rig.stream.ended).toBe(true);
    await rig.connect();
    expect(fleet.job(jobId)).toMatchObject({ status: 'cancelled', error_message: null });
  });
});
