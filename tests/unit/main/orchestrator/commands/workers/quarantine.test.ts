/** Workers on which no job can start: docs/internals/semantics.md, section 1; docs/internals/faults.md F26. */
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const trial = 600_000;
const hour = 3_600_000;
const noStart = { cause: 'start_failed', error: 'no python' } as const;

/** Gives the worker its next job, and has that end so. */
async function fail(fleet: Fleet, rig: FleetWorker, end: object = noStart, runsMs = 0): Promise<JobId> {
  const job = await fleet.runJob(rig);
  await fleet.clock.advance(runsMs);
  await rig.report(job, 'failed', end);
  return job;
}

const pass = async (fleet: Fleet, ms: number, ...rigs: readonly FleetWorker[]): Promise<void> => {
  for (let left = ms; left > 0; left -= 60_000) {
    await fleet.clock.advance(Math.min(left, 60_000));
    for (const rig of rigs) await rig.beat();
  }
};

const unquarantine = async (fleet: Fleet, rig: FleetWorker) => {
  const view = valueOf(await fleet.orchestrator.workers.unquarantine(rig.id, ada));
  await fleet.clock.settle();
  return view;
};

/** A worker in quarantine, after three jobs. */
async function openQuarantined(options: { readonly storeFile?: string } = {}) {
  const fleet = await openFleet(options);
  const rig = await fleet.addIdleWorker();
  for (let n = 0; n < 3; n++) await fail(fleet, rig);
  return { fleet, rig };
}

describe('three different jobs in a row that can not start', () => {
  test('put the worker in quarantine: it stays there, is told of, and gets no more', async () => {
    const { fleet, rig } = await openQuarantined();
    expect(rig.view()).toMatchObject({
      status: 'idle',
      status_reason: 'quarantined',
      quarantine: {
        reason: '3 jobs in a row could not run here; the last one: no python',
        since: '2026-01-01T12:00:00.000Z',
        retry_at: '2026-01-01T12:10:00.000Z',
      },
    });
    expect(fleet.trail(rig.id).filter(type => type === 'worker.quarantined')).toHaveLength(1);
    expect(fleet.audit().filter(({ type }) => type === 'worker.quarantined')).toMatchObject([
      { actor_type: 'system', target_id: rig.id },
    ]);
    const { workerId, reason } = await fleet.submit();
    expect(workerId).toBeNull();
    expect(reason).toBe('No idle workers: 0 of 1 worker can take this job: 1 quarantined');
    await pass(fleet, trial - 1, rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(3);
  });

  test('count as well when they die by a signal within a minute', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fail(fleet, rig);
    await fail(fleet, rig, { signal: 'SIGSEGV' }, 59_999);
    await fail(fleet, rig, { signal: 'SIGKILL' });
    expect(rig.view().status_reason).toBe('quarantined');
  });

  test.each<[string, (fleet: Fleet, rig: FleetWorker) => Promise<unknown>]>([
    ['failed by itself', (fleet, rig) => fail(fleet, rig, { exit_code: 1 })],
    ['died by a signal after a minute', (fleet, rig) => fail(fleet, rig, { signal: 'SIGSEGV' }, 60_000)],
    [
      'was completed',
      async (fleet, rig) => {
        await rig.report(await fleet.runJob(rig), 'completed');
      },
    ],
  ])('are not in a row when one between them %s', async (_what, between) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    await between(fleet, rig);
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    expect(rig.view()).toMatchObject({ status: 'idle', status_reason: null, quarantine: null });
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
  });

  test('are still three when others between them say nothing about the worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    await fail(fleet, rig, { cause: 'invalid_config' });
    const offered = await fleet.submit();
    await fleet.cancel(offered.jobId);
    await rig.report(offered.jobId, 'cancelled');
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
  });

  test('of each worker are its own', async () => {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()] as const;
    const jobs = await Promise.all([1, 2, 3, 4].map(() => fleet.submit({ max_retries: 0 })));
    for (const { jobId } of jobs) {
      const holder = rigs.find(rig => rig.view().current_job_id === jobId);
      await holder?.report(jobId, 'failed', noStart);
    }
    expect(rigs.map(rig => rig.view().status_reason)).toEqual([null, null]);
  });

  test('are remembered over a restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    await fleet.restart({ crash: true });
    await rig.connect();
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
  });
});

describe('one job alone', () => {
  test('that kills every trainer at its start fails after its retries, and nobody is quarantined', async () => {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    const { jobId } = await fleet.submit({ max_retries: 5, retry_on: ['start_failed'] });
    while (fleet.job(jobId).status !== 'failed') {
      const holder = rigs.find(rig => rig.view().current_job_id === jobId);
      await holder?.report(jobId, 'starting');
      await holder?.report(jobId, 'failed', noStart);
      await pass(fleet, 30_000, ...rigs);
    }
    expect(fleet.job(jobId)).toMatchObject({ cause: 'start_failed', attempt: 6 });
    expect(rigs.map(rig => rig.view().status_reason)).toEqual([null, null]);
    expect(await fleet.submit()).toMatchObject({ workerId: expect.any(String) });
  });
});

describe('after ten minutes', () => {
  test('one job is tried, and no second one beside it', async () => {
    const { fleet, rig } = await openQuarantined();
    const [first, second] = [(await fleet.submit()).jobId, (await fleet.submit()).jobId];
    await pass(fleet, trial - 1, rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(3);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(first);
    expect(fleet.job(second).status).toBe('pending');
    expect(rig.view()).toMatchObject({ status: 'busy', quarantine: { since: '2026-01-01T12:00:00.000Z' } });
  });

  test('a trial that succeeds ends it', async () => {
    const { fleet, rig } = await openQuarantined();
    const [first, second] = [(await fleet.submit()).jobId, (await fleet.submit()).jobId];
    await pass(fleet, trial, rig);
    await rig.run(first);
    expect(rig.view().quarantine).not.toBeNull();
    await rig.report(first, 'completed');
    expect(rig.view().quarantine).toBeNull();
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.unquarantined');
    expect(rig.lastOffer().job_id).toBe(second);
  });

  test('a trial that fails by itself has started, and ends it, too', async () => {
    const { fleet, rig } = await openQuarantined();
    await pass(fleet, trial, rig);
    await fail(fleet, rig, { exit_code: 1 });
    expect(rig.view()).toMatchObject({ status: 'idle', quarantine: null });
  });

  test.each([
    ['the next job', false],
    ['a job that had failed here before', true],
  ])('a trial that cannot start either puts it back for ten minutes more: %s', async (_what, sameJob) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    const last = await fleet.runJob(rig, { retry_on: ['start_failed'] });
    const next = sameJob ? last : (await fleet.submit()).jobId;
    await rig.report(last, 'failed', noStart);
    expect(rig.view().status_reason).toBe('quarantined');
    if (!sameJob) await fleet.cancel(last);
    await pass(fleet, trial, rig);
    expect(rig.lastOffer().job_id).toBe(next);
    await rig.run(next);
    const { jobId: another } = await fleet.submit();
    await rig.report(next, 'failed', noStart);
    expect(rig.view()).toMatchObject({ quarantine: { since: '2026-01-01T12:10:00.000Z' } });
    await pass(fleet, trial - 1, rig);
    expect(fleet.job(another).status).toBe('pending');
    expect(fleet.trail(rig.id).filter(type => type === 'worker.quarantined')).toHaveLength(2);
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('busy');
  });

  test('a trial that says nothing is followed by another one', async () => {
    const { fleet, rig } = await openQuarantined();
    await pass(fleet, trial, rig);
    await fail(fleet, rig, { cause: 'rejected' });
    expect(rig.view().quarantine).not.toBeNull();
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(rig.view().quarantine).toBeNull();
  });

  test.each([
    ['as they are', 0, false, trial - 240_000],
    ['set back', -hour, false, trial - 240_000],
    ['set far forward', 10_000 * hour, false, trial - 240_000],
    ['set back and nothing known of the time', -hour, true, trial],
    ['set far forward and nothing known of the time', 10_000 * hour, true, 0],
  ])('is counted over a restart, with the clocks %s', async (_what, ms, forgetsTime, restMs) => {
    const { fleet, rig } = await openQuarantined();
    const { jobId } = await fleet.submit();
    await pass(fleet, 240_000, rig);
    fleet.clock.shiftWall(ms);
    await fleet.restart({ crash: true, forgetsTime });
    await rig.connect();
    expect(rig.view().quarantine).not.toBeNull();
    if (restMs > 0) {
      await pass(fleet, restMs - 1, rig);
      expect(fleet.job(jobId).status).toBe('pending');
      await fleet.clock.advance(1);
    }
    expect(rig.lastOffer().job_id).toBe(jobId);
  });
});

describe('a person', () => {
  test('ends it at once', async () => {
    const { fleet, rig } = await openQuarantined();
    const { jobId } = await fleet.submit();
    expect(await unquarantine(fleet, rig)).toMatchObject({ status: 'busy', quarantine: null });
    expect(rig.lastOffer().job_id).toBe(jobId);
    expect(fleet.audit().findLast(({ type }) => type === 'worker.unquarantined')).toMatchObject({
      actor_type: 'admin',
      actor_id: 'ada',
    });
  });

  test('and with it what had been held against the worker', async () => {
    const { fleet, rig } = await openQuarantined();
    await unquarantine(fleet, rig);
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    expect(rig.view().status_reason).toBeNull();
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
    await pass(fleet, trial - 1, rig);
    expect(await fleet.submit()).toMatchObject({ workerId: null });
  });

  test('changes nothing where there is none', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    expect(await unquarantine(fleet, rig)).toMatchObject({ status: 'idle' });
    expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(seq);
    const unknown = await fleet.orchestrator.workers.unquarantine('w_9' as never, ada);
    expect(refusalOf(unknown).code).toBe('worker_not_found');
  });
});
