// See docs/internals/semantics.md, section 1, and docs/internals/faults.md, F26.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const trialDelayMs = 600_000;
const hourMs = 3_600_000;
const startFailure = { cause: 'start_failed', error: 'no python' } as const;

/** Runs a job on the worker, and fails the job with `report` after `runsMs`. */
async function fail(
  fleet: Fleet,
  rig: FleetWorker,
  report: object = startFailure,
  runsMs = 0,
): Promise<JobId> {
  const job = await fleet.runJob(rig);
  await fleet.clock.advance(runsMs);
  await rig.report(job, 'failed', report);
  return job;
}

// Advances the clock while the workers stay in contact.
const advanceInContact = async (fleet: Fleet, ms: number, ...rigs: readonly FleetWorker[]): Promise<void> => {
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

/** Creates a worker that is quarantined after three failed jobs. */
async function openQuarantined(options: { readonly storeFile?: string } = {}) {
  const fleet = await openFleet(options);
  const rig = await fleet.addIdleWorker();
  for (let n = 0; n < 3; n++) await fail(fleet, rig);
  return { fleet, rig };
}

describe('three different jobs in a row that fail to start', () => {
  test('quarantines the worker, records the quarantine, and dispatches no more jobs to the worker', async () => {
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
    await advanceInContact(fleet, trialDelayMs - 1, rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(3);
  });

  test('counts jobs that a signal ends within a minute', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fail(fleet, rig);
    await fail(fleet, rig, { signal: 'SIGSEGV' }, 59_999);
    await fail(fleet, rig, { signal: 'SIGKILL' });
    expect(rig.view().status_reason).toBe('quarantined');
  });

  test.each<[string, (fleet: Fleet, rig: FleetWorker) => Promise<unknown>]>([
    ['failed with an exit code', (fleet, rig) => fail(fleet, rig, { exit_code: 1 })],
    ['was ended by a signal after a minute', (fleet, rig) => fail(fleet, rig, { signal: 'SIGSEGV' }, 60_000)],
    [
      'completed',
      async (fleet, rig) => {
        await rig.report(await fleet.runJob(rig), 'completed');
      },
    ],
  ])('resets the count of failures when a job between two failures %s', async (_case, runJobBetween) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    await runJobBetween(fleet, rig);
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    expect(rig.view()).toMatchObject({ status: 'idle', status_reason: null, quarantine: null });
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
  });

  test('ignores jobs between two failures that reveal nothing about the worker', async () => {
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

  test('counts the failures of each worker separately', async () => {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()] as const;
    const jobs = await Promise.all([1, 2, 3, 4].map(() => fleet.submit({ max_retries: 0 })));
    for (const { jobId } of jobs) {
      const holder = rigs.find(rig => rig.view().current_job_id === jobId);
      await holder?.report(jobId, 'failed', startFailure);
    }
    expect(rigs.map(rig => rig.view().status_reason)).toEqual([null, null]);
  });

  test('keeps the count of failures across a restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    await fleet.restart({ crash: true });
    await rig.connect();
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
  });
});

describe('a single job that fails to start', () => {
  test('fails the job after its retries and quarantines no worker', async () => {
    const fleet = await openFleet();
    const rigs = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    const { jobId } = await fleet.submit({ max_retries: 5, retry_on: ['start_failed'] });
    while (fleet.job(jobId).status !== 'failed') {
      const holder = rigs.find(rig => rig.view().current_job_id === jobId);
      await holder?.report(jobId, 'starting');
      await holder?.report(jobId, 'failed', startFailure);
      await advanceInContact(fleet, 30_000, ...rigs);
    }
    expect(fleet.job(jobId)).toMatchObject({ cause: 'start_failed', attempt: 6 });
    expect(rigs.map(rig => rig.view().status_reason)).toEqual([null, null]);
    expect(await fleet.submit()).toMatchObject({ workerId: expect.any(String) });
  });
});

describe('the trial job after ten minutes', () => {
  test('dispatches one trial job after ten minutes, and no second job', async () => {
    const { fleet, rig } = await openQuarantined();
    const [first, second] = [(await fleet.submit()).jobId, (await fleet.submit()).jobId];
    await advanceInContact(fleet, trialDelayMs - 1, rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(3);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(first);
    expect(fleet.job(second).status).toBe('pending');
    expect(rig.view()).toMatchObject({ status: 'busy', quarantine: { since: '2026-01-01T12:00:00.000Z' } });
  });

  test('ends the quarantine when the trial job completes', async () => {
    const { fleet, rig } = await openQuarantined();
    const [first, second] = [(await fleet.submit()).jobId, (await fleet.submit()).jobId];
    await advanceInContact(fleet, trialDelayMs, rig);
    await rig.run(first);
    expect(rig.view().quarantine).not.toBeNull();
    await rig.report(first, 'completed');
    expect(rig.view().quarantine).toBeNull();
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.unquarantined');
    expect(rig.lastOffer().job_id).toBe(second);
  });

  test('ends the quarantine when the trial job starts and fails with an exit code', async () => {
    const { fleet, rig } = await openQuarantined();
    await advanceInContact(fleet, trialDelayMs, rig);
    await fail(fleet, rig, { exit_code: 1 });
    expect(rig.view()).toMatchObject({ status: 'idle', quarantine: null });
  });

  test.each([
    ['the next job', false],
    ['a job that failed here before', true],
  ])(
    'extends the quarantine by ten minutes when the trial job (%s) fails to start',
    async (_case, isSameJob) => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      for (let n = 0; n < 2; n++) await fail(fleet, rig);
      const last = await fleet.runJob(rig, { retry_on: ['start_failed'] });
      const next = isSameJob ? last : (await fleet.submit()).jobId;
      await rig.report(last, 'failed', startFailure);
      expect(rig.view().status_reason).toBe('quarantined');
      if (!isSameJob) await fleet.cancel(last);
      await advanceInContact(fleet, trialDelayMs, rig);
      expect(rig.lastOffer().job_id).toBe(next);
      await rig.run(next);
      const { jobId: anotherJob } = await fleet.submit();
      await rig.report(next, 'failed', startFailure);
      expect(rig.view()).toMatchObject({ quarantine: { since: '2026-01-01T12:10:00.000Z' } });
      await advanceInContact(fleet, trialDelayMs - 1, rig);
      expect(fleet.job(anotherJob).status).toBe('pending');
      expect(fleet.trail(rig.id).filter(type => type === 'worker.quarantined')).toHaveLength(2);
      await fleet.clock.advance(1);
      expect(rig.view().status).toBe('busy');
    },
  );

  test('dispatches another trial job when the first trial job reveals nothing about the worker', async () => {
    const { fleet, rig } = await openQuarantined();
    await advanceInContact(fleet, trialDelayMs, rig);
    await fail(fleet, rig, { cause: 'rejected' });
    expect(rig.view().quarantine).not.toBeNull();
    await rig.report(await fleet.runJob(rig), 'completed');
    expect(rig.view().quarantine).toBeNull();
  });

  test.each([
    ['unchanged', 0, false, trialDelayMs - 240_000],
    ['set back', -hourMs, false, trialDelayMs - 240_000],
    ['set far forward', 10_000 * hourMs, false, trialDelayMs - 240_000],
    ['set back and no stored time', -hourMs, true, trialDelayMs],
    ['set far forward and no stored time', 10_000 * hourMs, true, 0],
  ])(
    'dispatches the trial job at the expected time after a restart with the wall clock %s',
    async (_case, clockShiftMs, forgetsTime, remainingMs) => {
      const { fleet, rig } = await openQuarantined();
      const { jobId } = await fleet.submit();
      await advanceInContact(fleet, 240_000, rig);
      fleet.clock.shiftWall(clockShiftMs);
      await fleet.restart({ crash: true, forgetsTime });
      await rig.connect();
      expect(rig.view().quarantine).not.toBeNull();
      if (remainingMs > 0) {
        await advanceInContact(fleet, remainingMs - 1, rig);
        expect(fleet.job(jobId).status).toBe('pending');
        await fleet.clock.advance(1);
      }
      expect(rig.lastOffer().job_id).toBe(jobId);
    },
  );
});

describe('unquarantining a worker', () => {
  test('ends the quarantine, and dispatches a pending job immediately', async () => {
    const { fleet, rig } = await openQuarantined();
    const { jobId } = await fleet.submit();
    expect(await unquarantine(fleet, rig)).toMatchObject({ status: 'busy', quarantine: null });
    expect(rig.lastOffer().job_id).toBe(jobId);
    expect(fleet.audit().findLast(({ type }) => type === 'worker.unquarantined')).toMatchObject({
      actor_type: 'admin',
      actor_id: 'ada',
    });
  });

  test('resets the count of failures when a worker is unquarantined', async () => {
    const { fleet, rig } = await openQuarantined();
    await unquarantine(fleet, rig);
    for (let n = 0; n < 2; n++) await fail(fleet, rig);
    expect(rig.view().status_reason).toBeNull();
    await fail(fleet, rig);
    expect(rig.view().status_reason).toBe('quarantined');
    await advanceInContact(fleet, trialDelayMs - 1, rig);
    expect(await fleet.submit()).toMatchObject({ workerId: null });
  });

  test('changes nothing for a worker that is not quarantined, and returns worker_not_found for an unknown worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const seq = fleet.orchestrator.lifecycle.lastSeq();
    expect(await unquarantine(fleet, rig)).toMatchObject({ status: 'idle' });
    expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(seq);
    const outcome = await fleet.orchestrator.workers.unquarantine('w_9' as never, ada);
    expect(refusalOf(outcome).code).toBe('worker_not_found');
  });
});
