// Tests updates of worker programs, one worker at a time. tests/integration/worker-update.test.ts tests the agent.
import { describe, expect, test } from 'vitest';
import type { UpdateReport } from '../../../../../../protocol/worker-update.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { bob, type Fleet } from '../../../../../support/fleet.ts';
import { refusalOf, valueOf } from '../../../../../support/fleet-outcome.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const programName = 'trainyard-worker.mjs';
const [oldHash, newHash] = ['a'.repeat(64), 'b'.repeat(64)];
// The program that the orchestrator offers.
const offered = { version: '9.0.0', programs: [{ name: programName, sha256: newHash }] } as const;
const programOf = (sha256: string, trial = false) => ({
  name: programName,
  sha256,
  blocked: null,
  trial,
});

// Opens a fleet with `count` workers that run the old program.
async function openUpdatable(count: number) {
  const fleet = await openFleet({ offered });
  const rigs: FleetWorker[] = [];
  for (let n = 0; n < count; n += 1) {
    const rig = await fleet.addWorker();
    await rig.connect({ agentVersion: '8.0.0', program: programOf(oldHash), startId: `start-${n}` });
    rigs.push(rig);
  }
  return { fleet, rigs };
}

const requestAll = (fleet: Fleet, when: 'idle' | 'now' = 'idle') =>
  fleet.orchestrator.workers.requestUpdates({ workers: null, when, atOnce: 1 }, bob);
const orderFor = (rig: FleetWorker) => rig.commandsOf('update').at(-1);
const stateOf = (rig: FleetWorker) => rig.view().update?.order?.state ?? null;
const updateEvents = (fleet: Fleet) =>
  fleet
    .audit()
    .map(({ type }) => type)
    .filter(type => type.startsWith('worker.update_'));

async function report(fleet: Fleet, rig: FleetWorker, state: UpdateReport['state'], reason?: string) {
  const id = orderFor(rig)?.id;
  if (id === undefined) throw new Error('the worker has received no update order');
  const outcome = await fleet.orchestrator.workers.reportUpdate(rig.id, {
    id,
    state,
    reason: reason ?? null,
  });
  await fleet.clock.settle();
  return valueOf(outcome).proceed;
}

// Connects the worker with the new program. With `trial`, the agent still tries the new program out.
const connectUpdated = (rig: FleetWorker, trial = false) =>
  rig.connect({ agentVersion: '9.0.0', program: programOf(newHash, trial), startId: `new-${trial}` });

describe('an update of two workers', () => {
  test('updates the second worker after the first worker, and records each step in the audit trail', async () => {
    const { fleet, rigs } = await openUpdatable(2);
    const [first, second] = rigs as [FleetWorker, FleetWorker];
    expect(await requestAll(fleet)).toMatchObject([{ accepted: true }, { accepted: true }]);
    await fleet.clock.settle();
    expect(orderFor(first)).toMatchObject({ program: programName, sha256: newHash, version: '9.0.0' });
    expect([orderFor(second), stateOf(second)]).toEqual([undefined, 'queued']);
    expect(valueOf(await first.beat())).toMatchObject({ update: { sha256: newHash } });
    expect(await report(fleet, first, 'restarting')).toBe(true);
    await connectUpdated(first, true);
    expect(stateOf(first)).toBe('restarting');
    await connectUpdated(first);
    expect([stateOf(first), first.view().update?.available]).toEqual([null, false]);
    await fleet.clock.settle();
    expect(stateOf(second)).toBe('downloading');
    await connectUpdated(second);
    expect(updateEvents(fleet)).toEqual([
      'worker.update_requested',
      'worker.update_requested',
      'worker.update_started',
      'worker.update_restarting',
      'worker.update_done',
      'worker.update_started',
      'worker.update_done',
    ]);
  });

  test('stops the update of the second worker when the first update fails, and keeps the reason after a restart', async () => {
    const { fleet, rigs } = await openUpdatable(2);
    const [first, second] = rigs as [FleetWorker, FleetWorker];
    await requestAll(fleet);
    await fleet.clock.settle();
    expect(await report(fleet, first, 'failed', 'no space left on device')).toBe(false);
    await fleet.clock.settle();
    expect([stateOf(first), stateOf(second)]).toEqual(['failed', 'stopped']);
    expect(orderFor(second)).toBeUndefined();
    await fleet.restart({ crash: true });
    expect(first.view().update?.order).toMatchObject({ state: 'failed', reason: 'no space left on device' });
    expect(updateEvents(fleet).slice(-2)).toEqual(['worker.update_failed', 'worker.update_stopped']);
  });
});

test('starts an update after the running job, and dispatches no other job to the worker before the update', async () => {
  const { fleet, rigs } = await openUpdatable(1);
  const [rig] = rigs as [FleetWorker];
  const job = await fleet.runJob(rig);
  const { jobId: next } = await fleet.submit();
  await requestAll(fleet);
  await fleet.clock.settle();
  expect([stateOf(rig), orderFor(rig)]).toEqual(['waiting', undefined]);
  await rig.report(job, 'completed');
  await fleet.clock.settle();
  expect([stateOf(rig), fleet.job(next).status]).toEqual(['downloading', 'pending']);
  await connectUpdated(rig);
  expect(fleet.job(next).status).toBe('dispatched');
});

test('cancels an update only before the worker restarts, and tells the worker not to proceed after a cancel', async () => {
  const { fleet, rigs } = await openUpdatable(1);
  const [rig] = rigs as [FleetWorker];
  await requestAll(fleet, 'now');
  await fleet.clock.settle();
  expect(valueOf(await fleet.orchestrator.workers.cancelUpdate(rig.id, bob)).update?.order).toBeNull();
  expect(await report(fleet, rig, 'restarting')).toBe(false);
  await requestAll(fleet, 'now');
  await fleet.clock.settle();
  expect(await report(fleet, rig, 'restarting')).toBe(true);
  expect(refusalOf(await fleet.orchestrator.workers.cancelUpdate(rig.id, bob))).toEqual({
    code: 'update_under_way',
  });
});
