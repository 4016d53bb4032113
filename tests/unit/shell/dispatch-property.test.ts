/** Whatever jobs and workers do, no job waits that an idle worker could take, and none is overtaken by one of its kind. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JobDetail } from '../../../protocol/job.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { compileMatcher } from '../../../main/orchestrator/matching.ts';
import { createFleet, type Fleet } from '../../support/fleet.ts';
import { makeNeeds, makeOffering } from '../orchestrator/builders.ts';
import type { FleetWorker } from '../../support/fleet-worker.ts';

interface Scene {
  readonly fleet: Fleet;
  readonly rigs: FleetWorker[];
  readonly jobs: JobDetail['id'][];
}

type Act = (scene: Scene) => Promise<unknown>;

const submit = fc
  .record({
    gpu_count: fc.integer({ min: 0, max: 3 }),
    priority: fc.constantFrom(0, 10, 40),
    worker_labels: fc.constantFrom<Readonly<Record<string, string>>>({}, { kind: 'a*' }, { kind: 'h100' }),
  })
  .map(
    (job): Act =>
      async ({ fleet, jobs }) =>
        void jobs.push((await fleet.submit(job)).jobId),
  );

const join = fc
  .record({
    gpus: fc.integer({ min: 0, max: 3 }),
    labels: fc.constantFrom({ kind: 'a100' }, { kind: 'h100' }),
    protocol: fc.constantFrom<1 | 2>(1, 2),
  })
  .map(
    (agent): Act =>
      async ({ fleet, rigs }) =>
        void rigs.push(await fleet.addIdleWorker({ agent })),
  );

const onRig = (act: (rig: FleetWorker, fleet: Fleet) => Promise<unknown>): fc.Arbitrary<Act> =>
  fc.nat(20).map(n => async ({ fleet, rigs }) => {
    const rig = rigs[n % Math.max(1, rigs.length)];
    if (rig !== undefined) await act(rig, fleet);
  });

const onOffer = (status: 'completed' | 'failed' | 'running'): fc.Arbitrary<Act> =>
  onRig(async rig => {
    const offer = rig.commandsOf('job_submit').at(-1);
    if (offer === undefined) return;
    await rig.report(offer.job_id, 'starting');
    await rig.report(offer.job_id, status, { cause: status === 'failed' ? 'start_failed' : undefined });
  });

const acts = fc.array(
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
    fc.nat(20).map(
      (n): Act =>
        async ({ fleet, jobs }) => {
          const job = jobs[n % Math.max(1, jobs.length)];
          if (job !== undefined) await fleet.cancel(job);
        },
    ),
    fc.constantFrom(1, 20, 50, 170, 700).map(
      (seconds): Act =>
        ({ fleet }) =>
          fleet.clock.advance(seconds * 1000),
    ),
    fc.constant<Act>(({ fleet }) => fleet.restart({ crash: true })),
  ),
  { maxLength: 40 },
);

const matchOf = (job: JobDetail) =>
  compileMatcher(makeNeeds({ target: job.target, gpuCount: job.gpu_count, labels: job.worker_labels }));
const offeringOf = ({ gpu_count: gpuCount, labels }: WorkerView) => makeOffering({ gpuCount, labels });
const shapeOf = (job: JobDetail): string => JSON.stringify([job.gpu_count, job.worker_labels, job.priority]);

function check({ fleet, jobs }: Scene): void {
  const all = jobs.map(id => fleet.job(id));
  // One that waits for its next attempt says until when.
  const ready = all.filter(
    ({ status, reason }) => status === 'pending' && reason?.startsWith('Waits until') !== true,
  );
  const workers = fleet.orchestrator.listWorkers(undefined);
  const idle = workers.filter(({ status, quarantine }) => status === 'idle' && quarantine === null);
  for (const job of ready) {
    const takers = idle.filter(worker => matchOf(job)(offeringOf(worker)).length === 0);
    expect(takers.map(({ name }) => `${name} could take ${job.id}`)).toEqual([]);
  }
  const live = all.filter(({ status }) => !['pending', 'completed', 'failed', 'cancelled'].includes(status));
  const holders = live.map(({ worker_id: id }) => id);
  expect(new Set(holders).size).toBe(holders.length);
  for (const [, kind] of Map.groupBy(
    all.filter(({ attempt }) => attempt <= 1),
    shapeOf,
  )) {
    const firstWaiting = kind.findIndex(job => job.status === 'pending' && job.attempt === 0);
    if (firstWaiting < 0) continue;
    expect(kind.slice(firstWaiting).filter(({ attempt }) => attempt > 0)).toEqual([]);
  }
}

test('nobody waits for an idle worker, and nobody is overtaken', { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(acts, async script => {
      const fleet = await createFleet();
      const scene = { fleet, rigs: [], jobs: [] };
      try {
        for (const perform of script) {
          await perform(scene);
          check(scene);
        }
      } finally {
        await fleet.close();
      }
    }),
    { numRuns: 60 },
  );
});
