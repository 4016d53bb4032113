// Runs random actions on a fleet and checks two invariants after each action: No job that an idle worker could take
// is pending. No job overtakes an earlier job with the same requirements, priority and user.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JobDetail } from '../../../../../../protocol/job.ts';
import type { WorkerView } from '../../../../../../protocol/worker.ts';
import { compileMatcher } from '../../../../../../main/orchestrator/rules/matching.ts';
import { JobId } from '../../../../../../protocol/ids.ts';
import { ada, bob, createFleet, type Fleet } from '../../../../../support/fleet.ts';
import { brokenQueueRules } from '../../../../../support/queue-rules.ts';
import { makeNeeds, makeOffering } from '../../builders.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

interface Scene {
  readonly fleet: Fleet;
  readonly rigs: FleetWorker[];
  readonly jobs: JobDetail['id'][];
  // Jobs that a user moved to the top, or whose priority a user changed.
  readonly moved: Set<JobDetail['id']>;
}

type Action = (scene: Scene) => Promise<unknown>;

const submit = fc
  .record({
    gpu_count: fc.integer({ min: 0, max: 3 }),
    priority: fc.constantFrom(0, 10, 40),
    worker_labels: fc.constantFrom<Readonly<Record<string, string>>>({}, { kind: 'a*' }, { kind: 'h100' }),
    requires_approval: fc.nat({ max: 5 }).map(n => n === 0),
    user: fc.constantFrom(ada, ada, bob),
  })
  .map(
    ({ user, ...job }): Action =>
      async ({ fleet, jobs }) =>
        void jobs.push((await fleet.submit(job, user)).jobId),
  );

const onQueue = (action: (orchestrator: Fleet['orchestrator']) => Promise<unknown>): fc.Arbitrary<Action> =>
  fc.constant<Action>(async ({ fleet }) => {
    await action(fleet.orchestrator);
    await fleet.clock.settle();
  });

const onJob = (action: (id: JobDetail['id'], scene: Scene) => Promise<unknown>): fc.Arbitrary<Action> =>
  fc.nat(20).map(
    (n): Action =>
      async scene => {
        const id = scene.jobs[n % Math.max(1, scene.jobs.length)];
        if (id !== undefined) await action(id, scene);
        await scene.fleet.clock.settle();
      },
  );

const anyLimit = fc.constantFrom(undefined, null, 0, 1, 3);
const limit = fc
  .record({ max_concurrent: anyLimit, user_max_concurrent: anyLimit })
  .chain(limits => onQueue(orchestrator => orchestrator.queue.limit(limits, ada)));

const join = fc
  .record({
    gpus: fc.integer({ min: 0, max: 3 }),
    labels: fc.constantFrom({ kind: 'a100' }, { kind: 'h100' }),
    protocol: fc.constantFrom<1 | 2>(1, 2),
  })
  .map(
    (agent): Action =>
      async ({ fleet, rigs }) =>
        void rigs.push(await fleet.addIdleWorker({ agent })),
  );

const onRig = (action: (rig: FleetWorker, fleet: Fleet) => Promise<unknown>): fc.Arbitrary<Action> =>
  fc.nat(20).map(n => async ({ fleet, rigs }) => {
    const rig = rigs[n % Math.max(1, rigs.length)];
    if (rig !== undefined) await action(rig, fleet);
  });

// Reports `starting` and then `status` for the last offer of a worker.
const onOffer = (status: 'completed' | 'failed' | 'running'): fc.Arbitrary<Action> =>
  onRig(async rig => {
    const offer = rig.commandsOf('job_submit').at(-1);
    if (offer === undefined) return;
    await rig.report(offer.job_id, 'starting');
    await rig.report(offer.job_id, status, { cause: status === 'failed' ? 'start_failed' : undefined });
  });

const actions = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: submit },
    { weight: 3, arbitrary: join },
    { weight: 4, arbitrary: onOffer('completed') },
    { weight: 2, arbitrary: onOffer('failed') },
    { weight: 2, arbitrary: onOffer('running') },
    onRig(rig => rig.beat()),
    onRig(rig => rig.stream.drop()),
    onRig(rig => rig.connect()),
    onRig(rig => rig.disconnect()),
    onRig((rig, fleet) => fleet.drain(rig)),
    onRig((rig, fleet) => fleet.undrain(rig)),
    onJob((id, { fleet }) => fleet.cancel(id)),
    { weight: 2, arbitrary: onJob((id, { fleet }) => fleet.orchestrator.jobs.approve(id, ada)) },
    onJob((id, { fleet }) => fleet.orchestrator.jobs.reject(id, null, ada)),
    onJob(async (id, { fleet, moved }) => {
      moved.add(id);
      await fleet.orchestrator.jobs.setPriority(id, 20, ada);
    }),
    onJob(async (id, { fleet, moved }) => {
      moved.add(id);
      await fleet.orchestrator.jobs.moveToTop(id, ada);
    }),
    onQueue(orchestrator => orchestrator.queue.pause(null, ada)),
    { weight: 2, arbitrary: onQueue(orchestrator => orchestrator.queue.resume(ada)) },
    { weight: 2, arbitrary: limit },
    onQueue(orchestrator =>
      orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, ada),
    ),
    fc.constantFrom(1, 20, 50, 170, 700).map(
      (seconds): Action =>
        ({ fleet }) =>
          fleet.clock.advance(seconds * 1000),
    ),
    fc.constant<Action>(({ fleet }) => fleet.restart({ crash: true })),
  ),
  { maxLength: 40, size: 'max' },
);

const matchOf = (job: JobDetail) =>
  compileMatcher(makeNeeds({ target: job.target, gpuCount: job.gpu_count, labels: job.worker_labels }));
const offeringOf = ({ gpu_count: gpuCount, labels }: WorkerView) => makeOffering({ gpuCount, labels });
const shapeOf = (job: JobDetail): string =>
  JSON.stringify([job.gpu_count, job.worker_labels, job.priority, job.user]);

// Returns true if a pause, a missing approval or a limit keeps the job pending.
function isHeldBack({ fleet }: Scene, { user, approval }: JobDetail): boolean {
  const { paused, max_concurrent: max, user_max_concurrent: maxOfUser } = fleet.orchestrator.queue.view();
  const live = fleet.store.liveJobs();
  const ofUser = live.filter(job => job.user === user);
  return (
    paused !== null ||
    approval === 'wanted' ||
    (max !== null && live.length >= max) ||
    (maxOfUser !== null && ofUser.length >= maxOfUser)
  );
}

function checkInvariants(scene: Scene): void {
  const { fleet, jobs, moved } = scene;
  const views = jobs.map(id => fleet.job(id));
  // A job in back-off is not ready yet.
  const ready = views.filter(
    job =>
      job.status === 'pending' && job.reason?.startsWith('Waits until') !== true && !isHeldBack(scene, job),
  );
  const workers = fleet.orchestrator.workers.list(undefined);
  const idle = workers.filter(({ status, quarantine }) => status === 'idle' && quarantine === null);
  for (const job of ready) {
    const fitting = idle.filter(worker => matchOf(job)(offeringOf(worker)).length === 0);
    expect(fitting.map(({ name }) => `${name} could take ${job.id}`)).toEqual([]);
  }
  const live = views.filter(
    ({ status }) => !['pending', 'blocked', 'completed', 'failed', 'cancelled'].includes(status),
  );
  // No worker has two jobs.
  const holders = live.map(({ worker_id: id }) => id);
  expect(new Set(holders).size).toBe(holders.length);
  // Retries, approvals and moves change the order of jobs, so only the other jobs are compared.
  const unmoved = views.filter(
    ({ id, attempt, approval }) => attempt <= 1 && approval === null && !moved.has(id),
  );
  for (const equalJobs of Map.groupBy(unmoved, shapeOf).values()) {
    const firstWaiting = equalJobs.findIndex(job => job.status === 'pending' && job.attempt === 0);
    if (firstWaiting < 0) continue;
    expect(equalJobs.slice(firstWaiting).filter(({ attempt }) => attempt > 0)).toEqual([]);
  }
}

test('leaves no job pending beside a fitting idle worker, and lets no job overtake an equal job', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(actions, async script => {
      const fleet = await createFleet();
      const scene: Scene = { fleet, rigs: [], jobs: [], moved: new Set() };
      try {
        for (const perform of script) {
          await perform(scene);
          checkInvariants(scene);
        }
        const neededApproval = (id: string): boolean =>
          (fleet.store.job(JobId.parse(id))?.approval ?? null) !== null;
        expect(brokenQueueRules(fleet.audit(), neededApproval)).toEqual([]);
      } finally {
        await fleet.close();
      }
    }),
    { numRuns: 100 },
  );
});
