/** Workers on which nothing starts, and machines that share a token: SEMANTICS.md, section 1. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../support/fleet-bench.ts';
import { valueOf } from '../../support/fleet-outcome.ts';
import { ada, type Fleet, hashOf } from '../../support/fleet.ts';
import type { FleetWorker } from '../../support/fleet-worker.ts';

const failStart = async (fleet: Fleet, rig: FleetWorker): Promise<void> => {
  const { jobId } = await fleet.submit();
  await rig.report(jobId, 'starting');
  await rig.report(jobId, 'failed', { cause: 'start_failed', error: 'No trainer found' });
};

const quarantined = async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  for (let job = 0; job < 3; job += 1) await failStart(fleet, rig);
  return { fleet, rig };
};

/** Ten minutes, with beats. */
const untilTrial = async (fleet: Fleet, rig: FleetWorker): Promise<void> => {
  for (let beats = 0; beats < 20; beats += 1) {
    await fleet.clock.advance(30_000);
    await rig.beat();
  }
};

describe('quarantine', () => {
  test('takes a worker on which three jobs in a row could not start', async () => {
    const { fleet, rig } = await quarantined();
    expect(rig.view()).toMatchObject({
      status: 'idle',
      status_reason: 'quarantined',
      quarantine: {
        reason: '3 jobs in a row could not run here; the last one: No trainer found',
        since: '2026-01-01T12:00:00.000Z',
        retry_at: '2026-01-01T12:10:00.000Z',
      },
    });
    expect(fleet.trail(rig.id)).toContain('worker.quarantined');
    expect(await fleet.submit()).toMatchObject({ workerId: null });
  });

  test('ends with a trial that goes well', async () => {
    const { fleet, rig } = await quarantined();
    const { jobId } = await fleet.submit();
    await untilTrial(fleet, rig);
    expect(rig.lastOffer().job_id).toBe(jobId);
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    expect(rig.view()).toMatchObject({ status: 'idle', quarantine: null });
    expect(fleet.trail(rig.id)).toContain('worker.unquarantined');
  });

  test('goes on with one that does not, also over a restart', async () => {
    const { fleet, rig } = await quarantined();
    await fleet.submit();
    await untilTrial(fleet, rig);
    const { job_id: trial } = rig.lastOffer();
    await rig.report(trial, 'starting');
    await rig.report(trial, 'failed', { cause: 'start_failed' });
    const offers = rig.commandsOf('job_submit').length;
    const { jobId } = await fleet.submit();
    await fleet.restart({ crash: true });
    await rig.connect();
    expect(rig.commandsOf('job_submit')).toHaveLength(offers);
    await untilTrial(fleet, rig);
    expect(rig.lastOffer().job_id).toBe(jobId);
  });

  test('is ended by a person', async () => {
    const { fleet, rig } = await quarantined();
    const { jobId } = await fleet.submit();
    expect(valueOf(await fleet.orchestrator.unquarantineWorker(rig.id, ada)).quarantine).toBeNull();
    await fleet.clock.settle();
    expect(rig.lastOffer().job_id).toBe(jobId);
    await fleet.orchestrator.unquarantineWorker(rig.id, ada);
    expect(fleet.trail(rig.id).filter(type => type === 'worker.unquarantined')).toHaveLength(1);
  });

  test('does not befall a worker for one job that kills every trainer', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit({ retry_on: ['trainer_signal'], max_retries: 3 });
    for (let attempt = 1; attempt <= 4; attempt += 1) {
      // Backoff, by now up to two minutes.
      for (let beats = 0; beats < 4 && fleet.job(jobId).status === 'pending'; beats += 1) {
        await fleet.clock.advance(30_000);
        await rig.beat();
      }
      expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt });
      await rig.run(jobId);
      await rig.report(jobId, 'failed', { signal: 'SIGSEGV' });
    }
    expect(fleet.job(jobId)).toMatchObject({ status: 'failed', cause: 'trainer_signal' });
    expect(rig.view()).toMatchObject({ status: 'idle', quarantine: null });
  });
});

const register = (fleet: Fleet, rig: FleetWorker, machine: string) =>
  fleet.orchestrator.register(
    rig.id,
    {
      capabilities: {
        gpuCount: 1,
        gpuName: null,
        gpuVramGb: null,
        accelerator: null,
        driver: null,
        gpus: [],
      },
      host: machine,
      persistent: true,
      labels: null,
      currentJobId: null,
      currentAttemptId: null,
      protocol: 2,
      instanceId: machine,
      startId: 's',
      agentVersion: null,
    },
    '10.0.0.9',
  );

describe('another machine with the same token', () => {
  test('is turned away while the first one is in contact, which is told and is no contact', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await fleet.clock.advance(44_999);
    expect(await register(fleet, rig, 'twin')).toMatchObject({
      ok: false,
      refusal: { code: 'duplicate_registration' },
    });
    await fleet.clock.settle();
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
    expect(rig.view()).toMatchObject({
      host: `host-of-${rig.id}`,
      duplicate: { host: 'twin', address: '10.0.0.9' },
    });
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.duplicate');
    await fleet.clock.advance(120_000 - 44_999);
    expect(rig.view().status).toBe('offline');
  });

  test.each<[string, (fleet: Fleet, rig: FleetWorker) => Promise<unknown>]>([
    ['has been silent for a while', fleet => fleet.clock.advance(45_000)],
    ['has said goodbye', (_fleet, rig) => rig.disconnect()],
    ['was not heard since a restart', fleet => fleet.restart()],
  ])('takes the place of one that %s', async (_what, leave) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await leave(fleet, rig);
    expect(await register(fleet, rig, 'twin')).toMatchObject({ ok: true });
    expect(rig.view()).toMatchObject({ host: 'twin', duplicate: null });
  });

  test('is known by its name and address when it says nothing of itself', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1, host: 'first' } });
    await expect(rig.register({ protocol: 1, host: 'second' })).rejects.toThrow('duplicate_registration');
    await rig.register({ protocol: 1, host: 'first' });
  });
});

describe('a new token for after the job', () => {
  const rotate = async (fleet: Fleet, rig: FleetWorker): Promise<string> =>
    valueOf(await fleet.orchestrator.rotateToken(rig.id, 'after_job', ada)).token;

  test('works at once, and the old one until the job has ended', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const fresh = await rotate(fleet, rig);
    expect(fleet.orchestrator.workerByTokenHash(hashOf(rig.token))).toBe(rig.id);
    expect(fleet.orchestrator.workerByTokenHash(hashOf(fresh))).toBe(rig.id);
    expect(rig.stream.ended).toBe(false);
    await rig.report(job, 'completed');
    expect(fleet.orchestrator.workerByTokenHash(hashOf(rig.token))).toBeNull();
    expect(fleet.orchestrator.workerByTokenHash(hashOf(fresh))).toBe(rig.id);
    expect(rig.stream.ended).toBe(true);
  });

  test('is one like any other for an idle worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await rotate(fleet, rig);
    expect(fleet.orchestrator.workerByTokenHash(hashOf(rig.token))).toBeNull();
    expect(rig.stream.ended).toBe(true);
  });

  test('given twice leaves the older two tokens but one', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    const second = await rotate(fleet, rig);
    const third = await rotate(fleet, rig);
    const known = [rig.token, second, third].map(token =>
      fleet.orchestrator.workerByTokenHash(hashOf(token)),
    );
    expect(known).toEqual([null, rig.id, rig.id]);
  });
});
