/**
 * The delays that SimpleTuner's own agent needs: docs/internals/semantics.md, section 0;
 * docs/internals/worker-contract.md, section 3.
 */
import { describe, expect, test } from 'vitest';
import { system } from '../../../../../../main/orchestrator/model.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';

test.each(['completed', 'failed'] as const)('50 ms pass between “%s” and the next offer', async word => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  const { jobId: second } = await fleet.submit();
  await rig.report(first, word, { exit_code: 1 });
  expect(rig.view()).toMatchObject({ status: 'busy', status_reason: 'settling' });
  await fleet.clock.advance(49);
  expect(rig.lastOffer().job_id).toBe(first);
  await fleet.clock.advance(1);
  expect(rig.lastOffer().job_id).toBe(second);
});

test.each(['cancelled', 'failed', 'completed'] as const)(
  '500 ms pass between the “%s” of a job that was told to stop and the next offer',
  async word => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    const { jobId: second } = await fleet.submit();
    await rig.report(first, word);
    await fleet.clock.advance(499);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('a late “failed” after “cancelled” is accepted and does not touch the next job', async () => {
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

test('a submit while the agent settles neither reaches it early nor waits longer', async () => {
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
  '“%s” about a job that was given up long ago is followed by %i ms, too',
  async (word, settleMs) => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    await fleet.clock.advance(170_000);
    expect(fleet.job(first).status).toBe('cancelled');
    const { jobId: second } = await fleet.submit();
    await rig.report(first, word);
    await fleet.clock.advance(settleMs - 1);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('500 ms pass, too, after the “cancelled” of a job that nobody wanted to stop', async () => {
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

test('so is one about a job that somebody else has by now', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  const first = await fleet.runJob(rig);
  const other = await fleet.addIdleWorker();
  await fleet.clock.advance(170_000);
  await other.beat();
  expect(other.lastOffer().job_id).toBe(first);
  const { jobId: second } = await fleet.submit();
  expect(await rig.report(first, 'failed', { exit_code: -15 })).toMatchObject({ ok: false });
  await fleet.clock.advance(499);
  expect(rig.lastOffer().job_id).toBe(first);
  await fleet.clock.advance(1);
  expect(rig.lastOffer().job_id).toBe(second);
});

test('and one about a job that is gone by now', async () => {
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

describe('an offer that is on its way when an earlier job is reported to have been stopped', () => {
  const between = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await rig.report(first, 'failed', { exit_code: 1 });
    await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(50);
    const sent = () => rig.commandsOf('job_submit').length - 1;
    expect(sent()).toBe(1);
    return { fleet, rig, sent, late: () => rig.report(first, 'cancelled') };
  };

  test('is repeated when the agent has settled', async () => {
    const { fleet, rig, sent, late } = await between();
    await fleet.clock.advance(14_900);
    await late();
    await fleet.clock.advance(300);
    await rig.beat();
    await late();
    await fleet.clock.advance(499);
    expect(sent()).toBe(1);
    await fleet.clock.advance(1);
    expect(sent()).toBe(2);
    await fleet.clock.advance(14_000);
    expect(sent()).toBe(2);
    await fleet.clock.advance(1_000);
    expect(sent()).toBe(3);
  });

  test('comes on a new stream when the agent has settled, and not if it was taken meanwhile', async () => {
    for (const isTaken of [false, true]) {
      const { fleet, rig, sent, late } = await between();
      await late();
      await rig.openStream();
      await fleet.clock.advance(499);
      expect(sent()).toBe(1);
      if (isTaken) await rig.report(rig.lastOffer().job_id, 'starting');
      await fleet.clock.advance(1);
      expect(sent()).toBe(isTaken ? 1 : 2);
    }
  });
});

test.each(['beat', 'register'] as const)(
  'a %s that names what it should not have is followed by 500 ms, too: it may be just about to end',
  async word => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const first = await fleet.runJob(rig);
    await fleet.cancel(first);
    await fleet.clock.advance(170_000);
    const { jobId: second } = await fleet.submit();
    if (word === 'beat') await rig.beat(first);
    else await rig.connect({ currentJobId: first });
    await fleet.clock.advance(499);
    expect(rig.lastOffer().job_id).toBe(first);
    await fleet.clock.advance(1);
    expect(rig.lastOffer().job_id).toBe(second);
  },
);

test('our own agent needs no such time', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const first = await fleet.runJob(rig);
  await fleet.cancel(first);
  const { jobId: second } = await fleet.submit();
  await rig.report(first, 'cancelled');
  expect(rig.lastOffer().job_id).toBe(second);
});

test('an ephemeral one is told to leave after it has settled', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ type: 'ephemeral', agent: { protocol: 1 } });
  const job = await fleet.runJob(rig);
  await rig.report(job, 'completed');
  await fleet.clock.advance(49);
  expect(rig.commandsOf('shutdown')).toEqual([]);
  await fleet.clock.advance(1);
  expect(rig.commandsOf('shutdown')).toEqual([{ type: 'shutdown', reason: 'job_done' }]);
});
