// The v1 agent drops a job that arrives too soon after its report, so the orchestrator waits first.
// See docs/internals/semantics.md, section 0, and docs/internals/worker-contract.md, section 3. Takeover follows after
// 160 s of silence.
import { describe, expect, test } from 'vitest';
import { system } from '../../../../../../main/orchestrator/model.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';

test.each(['completed', 'failed'] as const)(
  'waits 50 ms between the report “%s” and the next offer to the v1 agent',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    const { jobId: second } = await fleet.submit();
    await rig.report(first, status, { exit_code: 1 });
    expect(rig.view()).toMatchObject({ status: 'busy', status_reason: 'settling' });
    await fleet.clock.advance(49);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test.each(['cancelled', 'failed', 'completed'] as const)(
  'waits 500 ms between the report “%s” about a stopped job and the next offer to the v1 agent',
  async status => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    const { jobId: second } = await fleet.submit();
    await rig.report(first, status);
    await fleet.clock.advance(499);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('accepts a late report “failed” after “cancelled” without changing the next job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  await fleet.cancel(first);
  await rig.report(first, 'cancelled');
  const { jobId: second } = await fleet.submit();
  await fleet.clock.advance(500);
  await rig.report(second, 'starting');
  expect(await rig.report(first, 'failed', { error: 'Training exited with code -15' })).toMatchObject({
    ok: true,
  });
  expect(fleet.job(first)).toMatchObject({ status: 'cancelled', error_message: null });
  expect(fleet.job(second).status).toBe('starting');
});

test('does not change the length of a cooldown when a job is submitted during the cooldown', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  await rig.report(first, 'completed');
  await fleet.clock.advance(20);
  const { jobId: second, workerId, reason } = await fleet.submit();
  expect(workerId).toBeNull();
  expect(reason).toBe('No idle workers: 0 of 1 worker can take this job: 1 settling');
  await fleet.clock.advance(30);
  expect(rig.lastOffer().job_id).toBe(second);
});

test.each([
  ['cancelled', 500],
  ['failed', 500],
  ['completed', 50],
] as const)(
  'starts a cooldown after the report “%s” about a job that was taken over long ago (%i ms)',
  async (status, cooldownMs) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    await fleet.clock.advance(170_000);
    expect(fleet.job(first).status).toBe('cancelled');
    const { jobId: second } = await fleet.submit();
    await rig.report(first, status);
    await fleet.clock.advance(cooldownMs - 1);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('waits 500 ms after the report “cancelled” about a job without a stop request', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig, { max_retries: 0 });
  const { jobId: second } = await fleet.submit();
  await rig.report(first, 'cancelled');
  await fleet.clock.advance(499);
  expect(rig.lastOffer().job_id).toBe(first);
  await fleet.clock.advance(1);
  expect(rig.lastOffer().job_id).toBe(second);
});

test('starts a cooldown after a report about a job that runs on another worker', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  const otherRig = await fleet.addIdleWorker();
  await fleet.clock.advance(170_000);
  await otherRig.beat();
  expect(otherRig.lastOffer().job_id).toBe(first);
  const { jobId: second } = await fleet.submit();
  expect(await rig.report(first, 'failed', { exit_code: -15 })).toMatchObject({ ok: false });
  await fleet.clock.advance(499);
  expect(rig.lastOffer().job_id).toBe(first);
  await fleet.clock.advance(1);
  expect(rig.lastOffer().job_id).toBe(second);
});

test('starts a cooldown after a report about a deleted job', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  await fleet.cancel(first);
  await fleet.clock.advance(170_000);
  expect(await fleet.orchestrator.jobs.remove(first, system)).toMatchObject({ ok: true });
  const { jobId: second } = await fleet.submit();
  expect(await rig.report(first, 'completed')).toMatchObject({ refusal: { code: 'job_not_found' } });
  await fleet.clock.advance(49);
  expect(rig.lastOffer().job_id).toBe(first);
  await fleet.clock.advance(1);
  expect(rig.lastOffer().job_id).toBe(second);
});

describe('an offer in flight when the stop of an earlier job is reported', () => {
  // Opens a fleet whose worker has failed one job and was just offered the next job.
  const openWithOffer = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await rig.report(first, 'failed', { exit_code: 1 });
    await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(50);
    const countOffers = () => rig.commandsOf('job_submit').length - 1;
    expect(countOffers()).toBe(1);
    return { fleet, rig, countOffers, reportFirstCancelled: () => rig.report(first, 'cancelled') };
  };

  test('repeats an offer only after the cooldown', async () => {
    const { fleet, rig, countOffers, reportFirstCancelled } = await openWithOffer();
    await fleet.clock.advance(14_900);
    await reportFirstCancelled();
    await fleet.clock.advance(300);
    await rig.beat();
    await reportFirstCancelled();
    await fleet.clock.advance(499);
    expect(countOffers()).toBe(1);
    await fleet.clock.advance(1);
    expect(countOffers()).toBe(2);
    await fleet.clock.advance(14_000);
    expect(countOffers()).toBe(2);
    await fleet.clock.advance(1_000);
    expect(countOffers()).toBe(3);
  });

  test('sends an unclaimed offer on a new stream only after the cooldown', async () => {
    for (const isClaimed of [false, true]) {
      const { fleet, rig, countOffers, reportFirstCancelled } = await openWithOffer();
      await reportFirstCancelled();
      await rig.openStream();
      await fleet.clock.advance(499);
      expect(countOffers()).toBe(1);
      if (isClaimed) await rig.report(rig.lastOffer().job_id, 'starting');
      await fleet.clock.advance(1);
      expect(countOffers()).toBe(isClaimed ? 1 : 2);
    }
  });
});

test.each(['heartbeat', 'registration'] as const)(
  'starts a cooldown of 500 ms after a %s that names a job that was taken over',
  async message => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    await fleet.clock.advance(170_000);
    const { jobId: second } = await fleet.submit();
    if (message === 'heartbeat') await rig.beat(first);
    else await rig.connect({ currentJobId: first });
    await fleet.clock.advance(499);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('sends the next offer to the v2 agent without a cooldown', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const first = await fleet.runJob(rig);
  await fleet.cancel(first);
  const { jobId: second } = await fleet.submit();
  await rig.report(first, 'cancelled');
  expect(rig.lastOffer().job_id).toBe(second);
});

test('tells an ephemeral v1 agent to leave after the cooldown', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ type: 'ephemeral', agent: { protocol: 1 } });
  const job = await fleet.runJob(rig);
  await rig.report(job, 'completed');
  await fleet.clock.advance(49);
  expect(rig.commandsOf('shutdown')).toEqual([]);
  await fleet.clock.advance(1);
  expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
});
