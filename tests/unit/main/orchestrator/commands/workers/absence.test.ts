/**
 * Connected workers that do not name their known job: docs/internals/semantics.md, section 5. T = 120 s: two heartbeats
 * count as two when they are at least 20 s apart.
 */
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const apart = 20_000;
/** Ways in which a beat does not speak of the job. */
const beats: readonly (readonly [string, (rig: FleetWorker) => ReturnType<FleetWorker['beat']>])[] = [
  ['names none', rig => rig.beat()],
  ['names another one', rig => rig.beat('j_9' as JobId)],
];

describe.each([1, 2] as const)('protocol %i', protocol => {
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

    test.each(beats)('is not given up over a single beat that %s', async (_what, beat) => {
      const { fleet, rig, job } = await start();
      await beat(rig);
      await fleet.clock.advance(60_000);
      expect(fleet.job(job)).toMatchObject({ status, attempt: 1 });
      expect(rig.stream.ended).toBe(false);
    });

    test('is not given up over beats that follow too closely', async () => {
      const { fleet, rig, job } = await start();
      await rig.beat();
      await fleet.clock.advance(apart - 1);
      await rig.beat();
      expect(fleet.job(job)).toMatchObject({ status, attempt: 1 });
      expect(rig.stream.ended).toBe(false);
    });

    test('is not given up when there is word of it between two such beats', async () => {
      const { fleet, rig, job } = await start();
      for (const [index, word] of ['beat', 'report', 'registration', 'beat'].entries()) {
        await rig.beat();
        await fleet.clock.advance(apart / 2);
        if (word === 'beat') await rig.beat(job);
        if (word === 'report') await rig.report(job, status === 'starting' ? 'starting' : 'running');
        if (word === 'registration') await rig.register({ currentJobId: job });
        await fleet.clock.advance(apart / 2);
        await rig.beat();
        expect([index, fleet.job(job).attempt, rig.stream.ended]).toEqual([index, 1, false]);
        await rig.beat(job);
      }
      expect(fleet.job(job).status).toBe(status === 'recovering' ? 'running' : status);
    });

    test('is still there for a report that comes between two such beats', async () => {
      const { fleet, rig, job } = await start();
      await rig.beat();
      await rig.report(job, 'completed');
      await fleet.clock.advance(apart);
      await rig.beat();
      expect(fleet.job(job)).toMatchObject({ status: 'completed', attempt: 1 });
    });
  });
});

describe('our own agent', () => {
  test.each(beats)('has lost its job when a second beat %s', async (_what, beat) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const other = await fleet.addIdleWorker();
    await rig.beat();
    await fleet.clock.advance(apart);
    expect((await beat(rig)).ok).toBe(true);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: other.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'worker_lost' });
    // Its end is known: what it says now was said before.
    expect(refusalOf(await rig.report(job, 'running')).code).toBe('attempt_superseded');
  });

  test('that comes back without its job has lost it, and the budget decides', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(120_000);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'recovering', hold: { kind: 'silent', until: null } });
    await fleet.clock.advance(apart);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('has stopped a job that was cancelled', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.cancel(job);
    expect(valueOf(await rig.beat()).cancel).toMatchObject({ job_id: job });
    await fleet.clock.advance(apart);
    expect(valueOf(await rig.beat()).cancel).toBeNull();
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', error_message: null });
    expect(rig.view().status).toBe('idle');
  });

  test('never had a job that was cancelled while it was only offered', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    await rig.beat();
    await fleet.clock.advance(apart);
    await rig.beat();
    expect(fleet.job(jobId)).toMatchObject({ status: 'cancelled', attempt: 1 });
    expect(await fleet.submit()).toMatchObject({ workerId: rig.id });
  });

  test('that reports about another job has not shown that it holds this one', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const former = await fleet.runJob(rig);
    await rig.report(former, 'completed');
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.beat();
    await fleet.clock.advance(apart / 2);
    await rig.report(former, 'completed');
    await fleet.clock.advance(apart / 2);
    await rig.beat();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('may well not know of an offer that is on its way', async () => {
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

describe('the published agent', () => {
  const start = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.beat();
    await fleet.clock.advance(apart);
    await rig.beat();
    return { fleet, rig, job };
  };

  test('is asked, by a clean end of its stream, and its job stays meanwhile', async () => {
    const { fleet, rig, job } = await start();
    expect(rig.stream.ended).toBe(true);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('goes on with the job that it names then', async () => {
    const { fleet, rig, job } = await start();
    await rig.connect({ currentJobId: job });
    await fleet.clock.advance(apart);
    await rig.beat(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.stream.ended).toBe(false);
  });

  test('has lost the job that it does not name then', async () => {
    const { fleet, rig, job } = await start();
    await rig.connect();
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost' });
  });

  test('is asked again when it only opens its stream and still names no job', async () => {
    const { fleet, rig } = await start();
    await rig.openStream();
    await rig.beat();
    await fleet.clock.advance(apart);
    await rig.beat();
    expect(rig.stream.ended).toBe(true);
  });

  test('is asked, too, about a job that was cancelled while it was only offered', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    await rig.beat();
    await fleet.clock.advance(apart);
    await rig.beat();
    expect(fleet.job(jobId).status).toBe('cancelling');
    expect(rig.stream.ended).toBe(true);
    await rig.connect();
    expect(fleet.job(jobId)).toMatchObject({ status: 'cancelled', error_message: null });
  });
});
