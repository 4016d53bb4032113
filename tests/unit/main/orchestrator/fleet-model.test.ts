// Checks the invariants of docs/internals/semantics.md after every call, in any order of calls.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { finalStatuses, isWaiting, type ShownStatus } from '../../../../protocol/job.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { ada, createFleet } from '../../../support/fleet.ts';
import { createQueueRules } from '../../../support/queue-rules.ts';
import { bookOf, wholeTrail } from '../../../support/seal.ts';
import { type FleetModel, fleetCommands, isKnown, type RealFleet } from './fleet-commands.ts';

const isFinal = (status: ShownStatus): boolean => finalStatuses.some(final => final === status);

async function setUp(): Promise<{ readonly model: FleetModel; readonly real: RealFleet }> {
  const fleet = await createFleet({ heartbeatTimeoutMs: 40_000 });
  const workers = [
    await fleet.addWorker({ name: 'persistent' }),
    await fleet.addWorker({ name: 'ephemeral', type: 'ephemeral' }),
    await fleet.addWorker({ name: 'published' }),
  ];
  for (const [index, rig] of workers.entries()) await rig.connect({ protocol: index === 2 ? 1 : 2 });
  const real: RealFleet = {
    fleet,
    workers,
    tokens: workers.map(({ token }) => token),
    jobs: [],
    streams: new Map(workers.map(({ stream }, index) => [index, stream])),
    checkInvariants: createInvariantCheck(() => real),
  };
  return {
    model: {
      jobs: 0,
      isPaused: false,
      limits: { max_concurrent: null, user_max_concurrent: null },
      keyed: new Map(),
      deletedJobs: new Set(),
      drainingWorkers: new Set(),
      deletedWorkers: new Set(),
      revokedTokens: [],
      isDiskFull: false,
    },
    real,
  };
}

// Creates the checks that must hold after every command. Some checks compare with the state after the previous command.
function createInvariantCheck(real: () => RealFleet): RealFleet['checkInvariants'] {
  const ended = new Map<JobId, ShownStatus>();
  let previousOffers: readonly number[] = [];
  let previousShutdowns: readonly number[] = [];
  let previouslyDraining: ReadonlySet<number> = new Set();
  let checkedRows = 0;
  const rules = createQueueRules(id => {
    const job = real().fleet.store.job(JobId.parse(id));
    return (job?.approval ?? null) !== null;
  });
  return model => {
    const { fleet, workers, jobs } = real();
    const rows = fleet.store.audit.after(checkedRows, 10_000);
    checkedRows += rows.length;
    expect(rows.flatMap(row => rules.check(row))).toEqual([]);
    const { paused, max_concurrent, user_max_concurrent } = fleet.orchestrator.queue.view();
    expect(paused !== null).toBe(model.isPaused);
    expect({ max_concurrent, user_max_concurrent }).toEqual(model.limits);
    for (const id of model.deletedJobs) expect(fleet.store.job(id)).toBe(null);
    expectPositionsWithoutGaps(real());
    for (const id of jobs) {
      expectConsistentAttempts(real(), id);
      const { status } = fleet.job(id);
      expect(ended.get(id) ?? status).toBe(status);
      if (isFinal(status)) ended.set(id, status);
    }
    expect(jobs).toHaveLength(model.jobs);
    const live = fleet.store.liveJobs();
    // No worker has two jobs.
    expect(new Set(live.map(({ attempt }) => attempt.workerId)).size).toBe(live.length);
    // Events are numbered from 1 without gaps.
    expect(fleet.events.map(({ seq }) => seq)).toEqual(fleet.events.map((_, index) => index + 1));
    expect(fleet.events).toHaveLength(fleet.store.eventRange().last);
    for (const token of model.revokedTokens) expect(isKnown(real(), token)).toBe(false);
    const offers = workers.map(
      rig => new Set(rig.commandsOf('job_submit').map(offer => offer.attempt_id)).size,
    );
    for (const index of previouslyDraining) {
      // The worker is still draining, so it must have no new offer.
      if (model.drainingWorkers.has(index)) expect(offers[index]).toBe(previousOffers[index]);
    }
    const shutdowns = workers.map(rig => rig.commandsOf('shutdown').length);
    for (const [index, rig] of workers.entries()) {
      // No agent is told to shut down during its job.
      if (fleet.store.liveJobOf(rig.id) !== null)
        expect(shutdowns[index]).toBe(previousShutdowns[index] ?? 0);
    }
    previousShutdowns = shutdowns;
    previousOffers = offers;
    previouslyDraining = new Set(model.drainingWorkers);
  };
}

// Pending jobs have positions from 1 without gaps. Jobs that need approval have no position.
function expectPositionsWithoutGaps({ fleet, jobs }: RealFleet): void {
  const waiting = jobs.map(id => fleet.job(id)).filter(({ status }) => isWaiting(status));
  const blocked = waiting.filter(({ approval }) => approval === 'wanted');
  const queued = waiting.filter(({ approval }) => approval !== 'wanted');
  expect(blocked.map(({ position }) => position)).toEqual(blocked.map(() => null));
  const positions = queued.map(({ position }) => position ?? 0).toSorted((a, b) => a - b);
  expect(positions).toEqual(queued.map((_, index) => index + 1));
  expect(fleet.orchestrator.queue.view()).toMatchObject({
    total_pending: waiting.length,
    total_blocked: blocked.length,
  });
}

function expectConsistentAttempts({ fleet }: RealFleet, id: JobId): void {
  const attempts = fleet.store.attempts(id);
  const stored = fleet.store.job(id);
  if (stored === null) throw new Error(`${id} was accepted, but is not in the store`);
  expect(attempts.map(({ n }) => n)).toEqual(attempts.map((_, index) => index + 1));
  expect(attempts.slice(0, -1).every(({ end }) => end !== null)).toBe(true);
  const charged = attempts.filter(({ end }) => end?.charged === true).length;
  expect(stored.retriesUsed).toBe(charged);
  expect(charged).toBeLessThanOrEqual(stored.spec.maxRetries);
}

const roundMs = 20_000;
// Enough rounds for the takeover and the longest back-offs of three retries.
const maxRounds = 100;

// Every job must end once the disk has space and a worker follows its commands.
async function expectAllEnd({
  model,
  real: { fleet, jobs },
}: Awaited<ReturnType<typeof setUp>>): Promise<void> {
  model.isDiskFull = false;
  await fleet.setDiskFull(false);
  await fleet.orchestrator.queue.resume(ada);
  await fleet.orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, ada);
  for (const id of jobs)
    if (fleet.job(id).approval === 'wanted') await fleet.orchestrator.jobs.approve(id, ada);
  const workingRig = await fleet.addIdleWorker();
  const haveAllEnded = (): boolean => jobs.every(id => isFinal(fleet.job(id).status));
  for (let round = 0; round < maxRounds && !haveAllEnded(); round += 1) {
    const liveJob = fleet.store.liveJobOf(workingRig.id);
    if (liveJob?.status === 'dispatched') await workingRig.run(liveJob.id);
    await (liveJob === null ? workingRig.beat() : workingRig.report(liveJob.id, 'completed'));
    await fleet.clock.advance(liveJob === null ? roundMs : 0);
  }
  const unfinished = jobs.filter(id => !isFinal(fleet.job(id).status));
  expect(unfinished).toEqual([]);
}

test('keeps all invariants in any order of calls, and ends every job', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.commands(fleetCommands, { maxCommands: 50, size: 'max' }), async commands => {
      const setup = await setUp();
      const { fleet } = setup.real;
      await fc.asyncModelRun(() => setup, commands);
      await expectAllEnd(setup);
      expect(await bookOf(fleet.store.audit).verify(wholeTrail)).toMatchObject({ valid: true });
      // The log must contain no other errors than those about the full disk.
      const otherErrors = fleet.errors.filter(error => !error.includes('disk is full'));
      expect(otherErrors).toEqual([]);
      fleet.errors.splice(0);
      await fleet.close();
    }),
    { numRuns: 50 },
  );
});
