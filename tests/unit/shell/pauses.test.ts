/** Removal, absence, the orchestrator's own stops, and what is written down: SEMANTICS.md, sections 1, 3 and 5. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../support/fleet-bench.ts';
import { valueOf } from '../../support/fleet-outcome.ts';
import type { Fleet } from '../../support/fleet.ts';

const names = (fleet: Fleet): readonly string[] =>
  fleet.orchestrator.listWorkers(undefined).map(({ name }) => name);
const hour = 3_600_000;

describe('an ephemeral worker that is offline', () => {
  test('is removed after an hour, by nobody but the orchestrator', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral', name: 'spot' });
    await fleet.addIdleWorker({ name: 'stays' });
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    expect(names(fleet)).toEqual(['spot', 'stays']);
    await fleet.clock.advance(1);
    expect(names(fleet)).toEqual(['stays']);
    const [row] = fleet.store.audit.list({
      type: 'worker.deleted',
      targetId: null,
      limit: 1,
      offset: 0,
    }).rows;
    expect(row).toMatchObject({ actor_type: 'system', target_id: rig.id });
  });

  test('is kept when it comes back in time, and counted anew', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral', name: 'spot' });
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    await rig.connect();
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    expect(names(fleet)).toEqual(['spot']);
  });

  test('is removed as well when it never came', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral', name: 'spot' });
    await fleet.clock.advance(299_999);
    expect(rig.view().status).toBe('connecting');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
    await fleet.clock.advance(hour - 1);
    expect(names(fleet)).toEqual(['spot']);
    await fleet.clock.advance(1);
    expect(names(fleet)).toEqual([]);
  });

  test('is not forgotten over restarts', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral', name: 'spot' });
    await fleet.addWorker({ type: 'ephemeral', name: 'never' });
    await rig.disconnect();
    await fleet.clock.advance(hour / 2);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(hour / 2);
    expect(names(fleet)).toEqual(['never']);
    await fleet.clock.advance(300_000);
    expect(names(fleet)).toEqual([]);
  });
});

describe('a beat that does not name the job', () => {
  test('is believed with the second one, from an agent that knows what it runs', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.beat();
    expect(fleet.job(job).status).toBe('running');
    await fleet.clock.advance(20_000);
    await rig.beat();
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued', cause: 'worker_lost' });
  });

  test('is forgotten with the next that does', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    for (let round = 0; round < 3; round += 1) {
      await rig.beat();
      await fleet.clock.advance(20_000);
      await rig.beat(job);
    }
    expect(fleet.job(job)).toMatchObject({ status: 'running', attempt: 1 });
  });

  test('is a question to the published agent, by the end of its stream', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { protocol: 1 } });
    const job = await fleet.runJob(rig);
    await rig.beat();
    await fleet.clock.advance(20_000);
    await rig.beat();
    expect(rig.stream.ended).toBe(true);
    expect(fleet.job(job).status).toBe('running');
    await rig.register();
    expect(fleet.job(job).attempts[0]).toMatchObject({ outcome: 'requeued' });
  });

  test('ends a cancellation of what was only offered', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const { jobId } = await fleet.submit();
    await fleet.cancel(jobId);
    expect(fleet.job(jobId).status).toBe('cancelling');
    await rig.beat();
    await fleet.clock.advance(20_000);
    await rig.beat();
    expect(fleet.job(jobId).status).toBe('cancelled');
  });
});

test('agents of protocol 2 hear of an orderly stop, and no others', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const old = await fleet.addIdleWorker({ agent: { protocol: 1 } });
  await fleet.restart();
  expect(rig.commands).toMatchObject([{ type: 'stopping' }]);
  expect(old.commands).toEqual([]);
});

test('an offer that its worker does not fetch after a restart goes to another one at the end of the grace', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const { jobId } = await fleet.submit({ max_retries: 0 });
  await fleet.restart({ crash: true });
  // It beats, and never opens its stream.
  for (let passed = 0; passed < 159_000; passed += 30_000) {
    await fleet.clock.advance(passed === 150_000 ? 9_999 : 30_000);
    await rig.beat();
    expect(fleet.job(jobId).status).toBe('dispatched');
  }
  await fleet.clock.advance(1);
  expect(fleet.job(jobId)).toMatchObject({ status: 'pending', attempts: [{ outcome: 'withdrawn' }] });
});

describe('the trail', () => {
  test('has one row for each event but progress, with who did it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    await rig.report(job, 'running', { progress: { step: 5 } });
    await fleet.cancel(job);
    await rig.report(job, 'cancelled');
    await rig.disconnect();
    const { rows } = fleet.store.audit.list({ type: null, targetId: null, limit: 500, offset: 0 });
    const told = fleet.events.flatMap(event => ('type' in event ? [event.type] : []));
    expect(rows.map(({ type }) => type).toReversed()).toEqual(told.filter(type => type !== 'job.progress'));
    const by = Object.fromEntries(rows.map(row => [row.type, row.actor_id ?? row.actor_type]));
    expect(by).toMatchObject({
      'worker.created': 'ada',
      'worker.registered': rig.id,
      'job.submitted': 'ada',
      'job.dispatched': 'system',
      'job.running': rig.id,
      'job.cancelling': 'ada',
      'job.cancelled': rig.id,
      'worker.offline': rig.id,
    });
    expect(JSON.stringify(rows)).not.toContain(rig.token);
  });

  test('knows of a stranger’s report', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const job = await fleet.runJob(rig);
    const stranger = await fleet.addIdleWorker();
    await stranger.report(job, 'completed');
    const { rows } = fleet.store.audit.list({
      type: 'job.report_refused',
      targetId: job,
      limit: 5,
      offset: 0,
    });
    expect(rows).toMatchObject([{ actor_id: stranger.id }]);
    expect(valueOf(await rig.report(job, 'completed'))).toEqual({ duplicate: false });
  });
});
