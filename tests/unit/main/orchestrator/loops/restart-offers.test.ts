// See docs/internals/semantics.md, section 4, item 3, and docs/internals/faults.md, F1 to F3. T, the heartbeat timeout,
// is 120 s. The takeover happens after 160 s.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../support/fleet-outcome.ts';

const takeoverMs = 160_000;

describe.each([1, 2] as const)('offers that were sent before a restart (protocol %i)', protocol => {
  // Opens a fleet whose orchestrator crashed 40 s after an offer that the worker has not claimed.
  const start = async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit({ max_retries: 0 });
    await fleet.clock.advance(40_000);
    await fleet.restart({ crash: true });
    return { fleet, rig, job, offersBefore: rig.commandsOf('job_submit').length };
  };

  test('repeats the offer on the usual schedule when the worker registers without the job', async () => {
    const { fleet, rig, job, offersBefore } = await start();
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await rig.connect();
    const countNewOffers = () => rig.commandsOf('job_submit').length - offersBefore;
    expect(countNewOffers()).toBe(1);
    await fleet.clock.advance(15_000);
    expect(countNewOffers()).toBe(2);
    await fleet.clock.advance(15_000);
    expect(countNewOffers()).toBe(3);
    await fleet.clock.advance(14_999);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await fleet.clock.advance(1);
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'withdrawn', cause: null });
  });

  test('claims the offer when the worker registers with the job', async () => {
    const { fleet, rig, job, offersBefore } = await start();
    expect(await rig.register({ currentJobId: job })).toMatchObject({
      resume_job: { job_id: job, attempt_id: 'a_1', status: 'starting' },
    });
    await rig.openStream();
    await rig.report(job, 'running');
    await fleet.clock.advance(60_000);
    await rig.beat(job);
    expect(rig.commandsOf('job_submit')).toHaveLength(offersBefore);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('claims the offer when the worker reports the job', async () => {
    const { fleet, rig, job } = await start();
    await rig.run(job);
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('withdraws the offer at takeover when the worker sends heartbeats but opens no stream', async () => {
    const { fleet, rig, job } = await start();
    const otherRig = await fleet.addIdleWorker();
    for (let elapsedMs = 0; elapsedMs < takeoverMs; elapsedMs += 20_000) {
      expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 1 });
      await fleet.clock.advance(20_000);
      await rig.beat();
      await otherRig.beat();
    }
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 2, worker_id: otherRig.id });
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'withdrawn', cause: null });
  });

  test('withdraws the offer at takeover, without using a retry, when the worker stays silent', async () => {
    const { fleet, job } = await start();
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 1 });
    await fleet.clock.advance(1);
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'withdrawn' }] });
  });

  test('withdraws the offer immediately when the worker disconnects', async () => {
    const { fleet, rig, job } = await start();
    await rig.disconnect();
    expect(fleet.job(job)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'withdrawn' }] });
  });

  test('restarts the takeover deadline after a second restart', async () => {
    const { fleet, job } = await start();
    await fleet.clock.advance(takeoverMs - 1);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(takeoverMs - 1);
    expect(fleet.job(job)).toMatchObject({ status: 'dispatched', attempt: 1 });
  });
});

test('refuses the claim of an offer withdrawn after a restart, except by the v1 agent', async () => {
  for (const protocol of [1, 2] as const) {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol } });
    const { jobId: job } = await fleet.submit();
    await fleet.restart({ crash: true });
    await fleet.clock.advance(takeoverMs);
    const claim = await rig.report(job, 'starting');
    if (protocol === 2) expect(refusalOf(claim)).toEqual({ code: 'attempt_superseded', action: 'stop' });
    else expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  }
});

describe('orderly stop of the orchestrator', () => {
  test('notifies v2 agents on their streams before all streams end', async () => {
    const fleet = await openFleet();
    const rigs = {
      idle: await fleet.addIdleWorker({ agent: { gpus: 0 } }),
      busy: await fleet.addIdleWorker(),
      v1: await fleet.addIdleWorker({ agent: { protocol: 1, gpus: 0 } }),
    };
    await fleet.runJob(rigs.busy, { gpu_count: 1 });
    const streams = [rigs.idle.stream, rigs.busy.stream, rigs.v1.stream];
    await fleet.restart();
    expect(streams.map(({ ended }) => ended)).toEqual([true, true, true]);
    const notification = { type: 'stopping', reason: 'the orchestrator stops, and will be back' };
    expect(rigs.idle.stream.commands.at(-1)).toEqual(notification);
    expect(rigs.busy.stream.commands.at(-1)).toEqual(notification);
    expect(rigs.v1.commands).toEqual([]);
  });

  test('sends no notification to agents in a crash', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.restart({ crash: true });
    expect(rig.commands).toEqual([]);
  });
});
