// See docs/internals/semantics.md, sections 1, 2 and 5. T, the heartbeat timeout, is 120 s. Takeover follows after 160 s.
import { describe, expect, test } from 'vitest';
import type { JobId } from '../../../../../protocol/ids.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { refusalOf, valueOf } from '../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';

// The heartbeat timeout T.
const timeoutMs = 120_000;
const takeoverMs = 160_000;

describe('detecting an offline worker', () => {
  test.each([
    ['idle', 'idle', {}],
    ['draining', 'draining', { drained: true }],
    ['without a stream', 'connecting', { drop: true }],
  ])('marks a worker as offline after exactly T of silence when it is %s', async (_case, status, setup) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    if ('drained' in setup) await fleet.drain(rig);
    if ('drop' in setup) await rig.stream.drop();
    await fleet.clock.advance(timeoutMs - 1);
    expect(rig.view().status).toBe(status);
    expect(fleet.trail(rig.id)).not.toContain('worker.offline');
    await fleet.clock.advance(1);
    expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'silent' });
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.offline');
    expect(rig.view().last_heartbeat).toBe('2026-01-01T12:00:00.000Z');
  });

  test('uses the configured heartbeat timeout as T', async () => {
    const fleet = await openFleet({ heartbeatTimeoutMs: 4_000 });
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(3_999);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test.each<[string, (rig: FleetWorker, job: JobId) => Promise<unknown>]>([
    ['a heartbeat', (rig, job) => rig.beat(job)],
    ['a report', (rig, job) => rig.report(job, 'running')],
    ['a registration', (rig, job) => rig.register({ currentJobId: job })],
    ['a stream', rig => rig.openStream()],
  ])('counts %s as contact of the worker', async (_case, makeContact) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(timeoutMs - 1);
    await makeContact(rig, job);
    await fleet.clock.advance(timeoutMs - 1);
    expect(rig.view().status).toBe('busy');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('counts a heartbeat that arrives exactly when the timeout ends', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(timeoutMs - 1);
    // The orchestrator's timer for the same time was set earlier. So the heartbeat arrives after the timer has fired,
    // but before the new status is written.
    fleet.clock.after(1, () => void fleet.orchestrator.workers.heartbeat(rig.id, {}));
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('idle');
    expect(fleet.trail(rig.id)).not.toContain('worker.offline');
  });

  test('measures the silence correctly when the wall clock is set back', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (const hours of [1, 2]) {
      fleet.clock.shiftWall(-hours * 3_600_000);
      await fleet.clock.advance(1_000);
      expect(rig.view().status).toBe('idle');
    }
    await fleet.clock.advance(timeoutMs - 2_001);
    expect(rig.view().status).toBe('idle');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });

  test('dispatches a job to an offline worker only after the worker returns', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(timeoutMs);
    const { jobId, reason } = await fleet.submit();
    expect(reason).toBe('No idle workers: 0 of 1 worker can take this job: 1 offline');
    await rig.beat();
    expect(rig.lastOffer().job_id).toBe(jobId);
    expect(fleet.trail(rig.id)).toContain('worker.back');
  });

  test('writes one transaction per worker when many workers go offline at the same time', async () => {
    const fleet = await openFleet();
    const rigs = await Promise.all(Array.from({ length: 40 }, () => fleet.addIdleWorker()));
    const before = fleet.writes;
    await fleet.clock.advance(timeoutMs);
    expect(rigs.map(rig => rig.view().status)).toEqual(rigs.map(() => 'offline'));
    expect(fleet.events.filter(event => 'type' in event && event.type === 'worker.offline')).toHaveLength(40);
    expect(fleet.writes - before).toBe(40);
  });
});

describe('an offer to a silent worker', () => {
  test('withdraws the offer to a silent worker 45 s after the dispatch, without using a retry', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(timeoutMs - 10_000);
    const { jobId } = await fleet.submit({ max_retries: 0 });
    const otherRig = await fleet.addIdleWorker();
    await fleet.clock.advance(44_999);
    expect(rig.view().status).toBe('offline');
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1, worker_id: rig.id });
    await fleet.clock.advance(1);
    expect(otherRig.lastOffer().job_id).toBe(jobId);
    expect(fleet.job(jobId)).toMatchObject({
      status: 'dispatched',
      attempts: [{ outcome: 'withdrawn', cause: null }, { worker_id: otherRig.id }],
    });
  });

  test('accepts the claim of a silent worker before its offer is withdrawn', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.clock.advance(timeoutMs - 10_000);
    const { jobId } = await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(40_000);
    expect(rig.view().status).toBe('offline');
    await rig.run(jobId);
    expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
  });
});

describe('a claimed job of a silent worker', () => {
  test.each(['starting', 'running'] as const)(
    'marks a %s job as recovering after T of silence',
    async status => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const { jobId } = await fleet.submit();
      await rig.report(jobId, status);
      await fleet.clock.advance(timeoutMs - 1);
      expect(fleet.job(jobId).status).toBe(status);
      await fleet.clock.advance(1);
      expect(fleet.job(jobId)).toMatchObject({ status: 'recovering', attempt: 1, worker_id: rig.id });
    },
  );

  test('dispatches a recovering job to another worker exactly at takeover', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const otherRig = await fleet.addIdleWorker();
    const advanceWithOther = async (ms: number): Promise<void> => {
      await fleet.clock.advance(ms);
      await otherRig.beat();
    };
    await advanceWithOther(100_000);
    await advanceWithOther(takeoverMs - 100_001);
    expect(fleet.job(job)).toMatchObject({ status: 'recovering', attempt: 1 });
    expect(otherRig.commands).toEqual([]);
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'given_up', cause: 'worker_lost' });
  });

  test('fails a recovering job at takeover when no retry is left', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'failed', cause: 'worker_lost', attempt: 1 });
  });

  test('ends the attempt of a disconnected worker at takeover, as for a silent worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.disconnect();
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.clock.advance(1);
    expect(fleet.job(job).status).toBe('failed');
  });

  test.each<[string, (rig: FleetWorker, job: JobId) => Promise<unknown>]>([
    ['a heartbeat', (rig, job) => rig.beat(job)],
    ['a registration', (rig, job) => rig.register({ currentJobId: job })],
    ['a report', (rig, job) => rig.report(job, 'running')],
    ['a repeated claim', (rig, job) => rig.report(job, 'starting')],
  ])(
    'resumes the job without a retry when its worker returns with %s before takeover',
    async (_case, makeContact) => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig, { max_retries: 1 });
      for (let round = 0; round < 3; round++) {
        await fleet.clock.advance(takeoverMs - 1);
        await makeContact(rig, job);
        expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1, worker_id: rig.id });
      }
      await fleet.clock.advance(takeoverMs);
      expect(fleet.job(job).status).toBe('pending');
    },
  );

  test.each([
    ['completed', 'completed', null],
    ['failed', 'failed', 'trainer_exit'],
  ] as const)('ends the job when its silent worker returns with “%s”', async (reported, status, cause) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(takeoverMs - 1);
    await rig.report(job, reported, { exit_code: 1 });
    expect(fleet.job(job)).toMatchObject({ status, cause });
  });

  test.each<[retries: number, status: string]>([
    [1, 'dispatched'],
    [0, 'failed'],
  ])(
    'ends the attempt immediately when its worker registers without the job (retries left: %i, job status: %s)',
    async (retries, status) => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig, { max_retries: retries });
      await fleet.clock.advance(timeoutMs);
      await rig.register();
      expect(fleet.job(job)).toMatchObject({
        status,
      });
      expect(fleet.job(job).attempts[0]).toMatchObject({ cause: 'worker_lost' });
      expect(fleet.job(job).attempts).toHaveLength(1 + retries);
    },
  );

  test('ends a cancelling job as cancelled when its worker registers without the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(timeoutMs);
    await fleet.cancel(job);
    await rig.register();
    expect(fleet.job(job)).toMatchObject({ status: 'cancelled', error_message: null });
  });
});

describe('after takeover', () => {
  test('tells the former worker in heartbeat and registration responses to abandon the job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(takeoverMs);
    const otherRig = await fleet.addIdleWorker();
    await otherRig.run(job);
    expect(valueOf(await rig.beat(job))).toMatchObject({ abandon_job: job, cancel: null });
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job, resume_job: null });
    expect(fleet.job(job)).toMatchObject({ status: 'running', worker_id: otherRig.id });
  });

  test.each<[string, (rig: FleetWorker, job: JobId) => Promise<unknown>]>([
    ['a heartbeat', (rig, job) => rig.beat(job)],
    ['a registration', (rig, job) => rig.register({ currentJobId: job })],
    ['a report', (rig, job) => rig.report(job, 'running')],
  ])(
    'resumes the pending job and refunds its retry when its former worker returns with %s',
    async (_case, makeContact) => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker();
      const job = await fleet.runJob(rig, { max_retries: 1 });
      for (let round = 0; round < 3; round++) {
        await fleet.clock.advance(takeoverMs);
        expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'given_up' }] });
        await makeContact(rig, job);
        expect(fleet.job(job)).toMatchObject({
          status: 'running',
          attempts: [{ outcome: null, ended_at: null }],
        });
      }
    },
  );

  test('refuses to resume the former job of a worker that has another job', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(takeoverMs);
    const { jobId: urgent } = await fleet.submit({ priority: 50 });
    await rig.connect();
    expect(rig.lastOffer().job_id).toBe(urgent);
    expect(valueOf(await rig.beat(job))).toMatchObject({ abandon_job: job });
    expect(refusalOf(await rig.report(job, 'running'))).toEqual({
      code: 'attempt_superseded',
      action: 'stop',
    });
    expect(await rig.register({ currentJobId: job })).toMatchObject({ abandon_job: job });
    expect(fleet.job(job).status).toBe('pending');
    expect(fleet.job(urgent).status).toBe('dispatched');
  });
});
