// See docs/internals/semantics.md, section 4. T, the heartbeat timeout, is 120 s. An offer is repeated after 15 and 30 s,
// and withdrawn after 45 s.
import { describe, expect, test } from 'vitest';
import { AttemptId, JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

test('repeats an offer at T/8 and T/4 and withdraws it at 3T/8', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  const offeredAttempts = () => rig.commandsOf('job_submit').map(({ attempt_id: attempt }) => attempt);
  await fleet.clock.advance(14_999);
  expect(offeredAttempts()).toEqual(['a_1']);
  await fleet.clock.advance(1);
  expect(offeredAttempts()).toEqual(['a_1', 'a_1']);
  await fleet.clock.advance(14_999);
  expect(offeredAttempts()).toEqual(['a_1', 'a_1']);
  await fleet.clock.advance(1);
  expect(offeredAttempts()).toEqual(['a_1', 'a_1', 'a_1']);
  await fleet.clock.advance(14_999);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 1 });
  const [first, ...repeats] = rig.commandsOf('job_submit');
  expect(repeats).toEqual([first, first]);
  const otherRig = await fleet.addIdleWorker();
  await fleet.clock.advance(1);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
  expect(fleet.job(jobId).attempts[0]).toMatchObject({ outcome: 'withdrawn', cause: null });
});

test('uses no retry when an offer is withdrawn', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  for (let round = 1; round <= 5; round++) {
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: round });
    await fleet.clock.advance(45_000);
    await rig.beat();
  }
  await rig.run(jobId);
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 6 });
});

test('repeats and withdraws a new offer of the same job on its own schedule', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  await fleet.clock.advance(45_000);
  await fleet.clock.advance(44_999);
  const offeredAttempts = rig.commandsOf('job_submit').map(({ attempt_id: attempt }) => attempt);
  expect(offeredAttempts).toEqual(['a_1', 'a_1', 'a_1', 'a_2', 'a_2', 'a_2']);
});

test('refuses a claim after the offer was withdrawn', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  const { attempt_id: first } = rig.lastOffer();
  await rig.stream.drop();
  await fleet.clock.advance(45_000);
  expect(fleet.job(jobId).status).toBe('pending');
  const withdrawn = { attempt_id: first };
  expect(refusalOf(await rig.report(jobId, 'starting', withdrawn))).toEqual({
    code: 'attempt_superseded',
    action: 'stop',
  });
  expect(fleet.job(jobId).status).toBe('pending');
  await rig.openStream();
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2 });
  expect(refusalOf(await rig.report(jobId, 'starting', withdrawn))).toEqual({
    code: 'attempt_superseded',
    action: 'stop',
  });
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2 });
});

test.each([1, 2] as const)('does not repeat an offer after it was claimed (protocol %i)', async protocol => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(16_000);
  await rig.report(jobId, 'starting');
  await fleet.clock.advance(60_000);
  expect(rig.commandsOf('job_submit')).toHaveLength(2);
  expect(fleet.job(jobId)).toMatchObject({ status: 'starting', attempt: 1 });
});

test('sends an open offer again on a new stream', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  const offer = rig.lastOffer();
  await rig.stream.drop();
  await fleet.clock.advance(5_000);
  await rig.openStream();
  expect(rig.stream.commands).toEqual([offer]);
});

test('ends the stream of the v1 agent when its offer is withdrawn, so that the agent registers again', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(44_999);
  expect(rig.stream.ended).toBe(false);
  await fleet.clock.advance(1);
  expect(rig.stream.ended).toBe(true);
  expect(fleet.job(jobId)).toMatchObject({ status: 'pending' });
  await rig.register({ currentJobId: jobId });
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1, attempts: [{ outcome: null }] });
});

test('accepts a withdrawn job that the v1 agent starts anyway', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const { jobId } = await fleet.submit();
  await fleet.clock.advance(45_000);
  expect((await rig.report(jobId, 'starting')).ok).toBe(true);
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 1 });
});

test('keeps the stream of the v2 agent open when its offer is withdrawn', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.submit();
  await fleet.clock.advance(45_000);
  expect(rig.stream.ended).toBe(false);
});

test('does not quarantine a connected worker whose stream is dead, and dispatches again after it reconnects', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit();
  await ignoreOffers(fleet, rig, 90_000);
  expect(rig.stream.ended).toBe(true);
  await ignoreOffers(fleet, rig, 300_000);
  expect(rig.view().quarantine).toBeNull();
  expect(fleet.job(jobId)).toMatchObject({ status: 'pending', attempt: 2 });
  await rig.connect();
  await rig.run(jobId);
  expect(fleet.job(jobId)).toMatchObject({ status: 'running', attempt: 3, worker_id: rig.id });
});

test('keeps repeating an offer when another pending job is cancelled', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const requeued = await fleet.runJob(rig, { gpu_count: 1 });
  await rig.register({ gpus: 0 });
  expect(fleet.job(requeued).status).toBe('pending');
  const { jobId: offered } = await fleet.submit();
  expect(rig.lastOffer().job_id).toBe(offered);
  await fleet.cancel(requeued);
  await fleet.clock.advance(15_000);
  expect(rig.commandsOf('job_submit').filter(({ job_id: id }) => id === offered)).toHaveLength(2);
});

test('withdraws an offer only once when another worker disconnects in the same transaction', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { gpus: 2 } });
  const otherRig = await fleet.addIdleWorker({ agent: { gpus: 1 } });
  const { jobId } = await fleet.submit({ gpu_count: 2 });
  expect(rig.lastOffer().job_id).toBe(jobId);
  // The disconnect happens at the same time and is queued first.
  fleet.clock.after(45_000, () => void fleet.orchestrator.workers.disconnect(otherRig.id));
  await fleet.clock.advance(45_000);
  expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: rig.id });
});

// Keeps the worker in contact for `ms` milliseconds without acknowledging offers. If `earlier` is set, the heartbeats
// name that job.
async function ignoreOffers(fleet: Fleet, rig: FleetWorker, ms: number, earlier?: JobId): Promise<void> {
  for (let left = ms; left > 0; left -= 15_000) {
    await fleet.clock.advance(Math.min(left, 15_000) - 1_000);
    await (earlier === undefined
      ? rig.beat()
      : rig.beat(earlier, { attempt_id: AttemptId.parse('a_earlier') }));
    await fleet.clock.advance(1_000);
  }
}

test('quarantines a worker whose heartbeats name an earlier job only after twelve unacknowledged offers', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const earlier = JobId.parse('j_earlier');
  await fleet.submit();
  for (let round = 1; round < 12; round += 1) {
    await ignoreOffers(fleet, rig, 45_000, earlier);
    if (rig.stream.ended) await rig.connect();
  }
  expect(rig.view().quarantine).toBeNull();
  await ignoreOffers(fleet, rig, 60_000, earlier);
  expect(rig.view().quarantine?.reason).toMatch(/^12 offers of jobs in a row were not acknowledged/);
});

describe.each([1, 2] as const)('a connected worker that acknowledges no offer (protocol %i)', protocol => {
  const openUnacknowledged = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId } = await fleet.submit();
    // Waits until the offer is withdrawn, and reconnects like an agent whose stream has ended.
    const ignoreOneOffer = async () => {
      await ignoreOffers(fleet, rig, 46_000);
      if (rig.stream.ended) await rig.connect();
    };
    return { fleet, rig, jobId, ignoreOneOffer };
  };

  test('quarantines the worker after three unacknowledged offers, and sends no more offers', async () => {
    const { fleet, rig, jobId, ignoreOneOffer } = await openUnacknowledged();
    await ignoreOneOffer();
    await ignoreOneOffer();
    expect(rig.view().quarantine).toBeNull();
    await ignoreOneOffer();
    expect(rig.view().quarantine?.reason).toBe(
      '3 offers of jobs in a row were not acknowledged, although the worker was in contact',
    );
    expect(fleet.trail(rig.id)).toContain('worker.quarantined');
    await ignoreOffers(fleet, rig, 300_000);
    expect(fleet.job(jobId)).toMatchObject({
      status: 'pending',
      attempt: 3,
      reason: expect.stringContaining('1 quarantined'),
    });
  });

  test('dispatches a job whose offers were not acknowledged to another worker', async () => {
    const { fleet, jobId, ignoreOneOffer } = await openUnacknowledged();
    await ignoreOneOffer();
    const otherRig = await fleet.addIdleWorker();
    await ignoreOneOffer();
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: otherRig.id });
  });

  test('sends a trial offer after ten minutes, and quarantines the worker again without an acknowledgement', async () => {
    const { fleet, rig, jobId, ignoreOneOffer } = await openUnacknowledged();
    for (let n = 0; n < 3; n++) await ignoreOneOffer();
    await ignoreOffers(fleet, rig, 600_000);
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', attempt: 4 });
    await ignoreOneOffer();
    expect(rig.view().quarantine?.reason).toMatch(/^an offer of a job was not acknowledged/);
    expect(fleet.job(jobId).status).toBe('pending');
  });

  test('resets the count of unacknowledged offers when an offer is acknowledged', async () => {
    const { fleet, rig, jobId, ignoreOneOffer } = await openUnacknowledged();
    await ignoreOneOffer();
    await ignoreOneOffer();
    await rig.run(jobId);
    await rig.report(jobId, 'completed');
    await fleet.clock.advance(1_000);
    await fleet.submit();
    await ignoreOneOffer();
    await ignoreOneOffer();
    expect(rig.view().quarantine).toBeNull();
  });
});
