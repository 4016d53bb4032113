// Explanations must match what dispatch does: a matching worker is idle only while every pending job has a blocker.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Explanation } from '../../../../../protocol/explain.ts';
import type { JobId } from '../../../../../protocol/ids.ts';
import { isWaiting, type JobDetail } from '../../../../../protocol/job.ts';
import { SubmitRequest } from '../../../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../../../protocol/worker.ts';
import type { DryRun } from '../../../../../main/orchestrator/index.ts';
import type { Actor } from '../../../../../main/orchestrator/ports/index.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { ada, createFleet, type Fleet } from '../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';

interface Scene {
  readonly fleet: Fleet;
  readonly rigs: FleetWorker[];
  readonly jobs: JobId[];
}

// `ends` lists the blockers that the action can end. A job that is dispatched right after the action must have had no
// other blockers.
interface Action {
  // Shown in the report of a failing script.
  readonly [fc.toStringMethod]: () => string;
  readonly ends: readonly string[];
  perform(scene: Scene): Promise<unknown>;
}

const named = (name: string, ends: readonly string[], perform: Action['perform']): Action => ({
  [fc.toStringMethod]: () => name,
  ends,
  perform,
});

// The blockers that a call by a worker can end, because the call can end the worker's job and its silence.
const endedByWorker = ['busy', 'limit', 'offline'];

const ci: Actor = { type: 'admin', id: 'ci', address: null };

const requestFields = fc.record({
  gpu_count: fc.integer({ min: 0, max: 3 }),
  priority: fc.constantFrom(0, 10, 40),
  worker_labels: fc.constantFrom<Readonly<Record<string, string>>>({}, {}, { kind: 'a*' }, { kind: 'h100' }),
  on_lost_contact: fc.constantFrom<'continue' | 'stop'>('continue', 'continue', 'continue', 'stop'),
  requires_approval: fc.constantFrom(false, false, false, true),
  retry_on: fc.constantFrom<['start_failed'] | []>([], ['start_failed']),
});

// A dry run must name a worker exactly when a worker fits and no blocker exists.
function expectNoContradiction({ status, workerId, explanation }: DryRun): void {
  const { reasons, workers } = explanation;
  const fitting = workers.filter(({ fits }) => fits).map(({ worker_id: id }) => id);
  const isFree = reasons.length === 0 && fitting.length > 0;
  expect([status === 'running', reasons, fitting]).toEqual([isFree, reasons, fitting]);
  if (workerId !== null) expect(fitting).toContain(workerId);
}

// Performs a dry run first, and expects the submission to match the dry run.
const submit = fc
  .record({
    fields: requestFields,
    user: fc.constantFrom(ada, ci),
    noWait: fc.constantFrom(false, false, true),
  })
  .map(
    ({ fields, user, noWait }): Action =>
      named(`submit ${JSON.stringify({ ...fields, noWait })}`, [], async ({ fleet, jobs }) => {
        const body = SubmitRequest.parse({
          config: {},
          ...fields,
          no_wait: noWait && !fields.requires_approval,
        });
        const before = [fleet.writes, fleet.orchestrator.lifecycle.lastSeq(), fleet.audit().length];
        const prediction = valueOf(await fleet.orchestrator.jobs.dryRun(body, user));
        expect([fleet.writes, fleet.orchestrator.lifecycle.lastSeq(), fleet.audit().length]).toEqual(before);
        expectNoContradiction(prediction);
        const submission = valueOf(await fleet.orchestrator.jobs.submit(body, user));
        await fleet.clock.settle();
        expect(prediction).toMatchObject({ status: submission.status, reason: submission.reason });
        if (submission.status === 'rejected') {
          expect(prediction.gpus).toBeNull();
          return;
        }
        const { workerId, position, gpus, jobId } = submission;
        expect(prediction).toMatchObject({ workerId, position });
        expect(prediction.gpus).toEqual(gpus);
        jobs.push(jobId);
      }),
  );

const join = fc
  .record({
    gpus: fc.integer({ min: 0, max: 3 }),
    labels: fc.constantFrom({ kind: 'a100' }, { kind: 'h100' }),
    protocol: fc.constantFrom<1 | 2>(1, 2),
    type: fc.constantFrom<'persistent' | 'ephemeral'>('persistent', 'persistent', 'persistent', 'ephemeral'),
  })
  .map(
    ({ type, ...agent }): Action =>
      named(`join ${JSON.stringify({ type, ...agent })}`, [], async ({ fleet, rigs }) => {
        const name = `rig-${rigs.length}`;
        const labels = { ...agent.labels, rig: name };
        rigs.push(await fleet.addIdleWorker({ name, type, agent: { ...agent, labels } }));
      }),
  );

const create = named(
  'create',
  [],
  async ({ fleet, rigs }) => void rigs.push(await fleet.addWorker({ labels: { kind: 'a100' } })),
);

const onRig = (
  name: string,
  ends: readonly string[],
  action: (rig: FleetWorker, fleet: Fleet) => Promise<unknown>,
): fc.Arbitrary<Action> =>
  fc.nat(20).map(n =>
    named(`${name} ${n}`, ends, async ({ fleet, rigs }) => {
      const rig = rigs[n % Math.max(1, rigs.length)];
      if (rig !== undefined) await action(rig, fleet);
    }),
  );

const onJob = (
  name: string,
  ends: readonly string[],
  action: (id: JobId, fleet: Fleet) => Promise<unknown>,
): fc.Arbitrary<Action> =>
  fc.nat(20).map(n =>
    named(`${name} ${n}`, ends, async ({ fleet, jobs }) => {
      const id = jobs[n % Math.max(1, jobs.length)];
      if (id === undefined) return;
      await action(id, fleet);
      await fleet.clock.settle();
    }),
  );

// Reports `starting` and then `status` for the last offer of a worker.
const onOffer = (status: 'completed' | 'failed' | 'running', ends: readonly string[]): fc.Arbitrary<Action> =>
  onRig(status, ends, async rig => {
    const offer = rig.commandsOf('job_submit').at(-1);
    if (offer === undefined) return;
    await rig.report(offer.job_id, 'starting');
    await rig.report(offer.job_id, status, { cause: status === 'failed' ? 'start_failed' : undefined });
  });

// Submits jobs that only one worker can run and that fail to start. Three such jobs quarantine the worker.
const failStarts = fc.record({ n: fc.nat(20), isOneJob: fc.boolean() }).map(({ n, isOneJob }) =>
  named(`fail starts ${n}${isOneJob ? ' of one job' : ''}`, [...endedByWorker, 'settling'], async scene => {
    const { fleet, rigs, jobs } = scene;
    const rig = rigs[n % Math.max(1, rigs.length)];
    const fail = async (id: JobId | undefined): Promise<void> => {
      if (rig === undefined || id === undefined || fleet.job(id).status !== 'dispatched') return;
      await rig.report(id, 'starting');
      await rig.report(id, 'failed', { cause: 'start_failed' });
      await fleet.clock.advance(50);
    };
    for (let count = 0; rig !== undefined && count < (isOneJob ? 1 : 3); count++) {
      const worker_labels = { rig: rig.view().name };
      const retry_on: 'start_failed'[] = isOneJob ? ['start_failed'] : [];
      jobs.push((await fleet.submit({ worker_labels, priority: 'critical', retry_on })).jobId);
      await fail(jobs.at(-1));
    }
    if (isOneJob) await fail(jobs.at(-1));
  }),
);

const onQueue = (
  name: string,
  ends: readonly string[],
  action: (fleet: Fleet) => Promise<unknown>,
): fc.Arbitrary<Action> =>
  fc.constant(
    named(name, ends, async ({ fleet }) => {
      await action(fleet);
      await fleet.clock.settle();
    }),
  );

const limits = fc
  .record({
    max_concurrent: fc.constantFrom(null, null, 1, 3),
    user_max_concurrent: fc.constantFrom(null, 1, 2),
  })
  .map(
    (limit): Action =>
      named(`limit ${JSON.stringify(limit)}`, ['limit'], async ({ fleet }) => {
        await fleet.orchestrator.queue.limit(limit, ada);
        await fleet.clock.settle();
      }),
  );

const anyAction = fc.oneof(
  { weight: 8, arbitrary: submit },
  { weight: 5, arbitrary: join },
  fc.constant(create),
  { weight: 9, arbitrary: onOffer('completed', endedByWorker) },
  { weight: 2, arbitrary: onOffer('failed', endedByWorker) },
  { weight: 2, arbitrary: onOffer('running', ['offline']) },
  { weight: 3, arbitrary: failStarts },
  onRig('heartbeat', endedByWorker, rig => rig.beat()),
  onRig('drop', [], async rig => {
    if (rig.view().registered_at !== null) await rig.stream.drop();
  }),
  onRig('connect', ['no_stream', 'never_registered', 'leaving', ...endedByWorker], rig => rig.connect()),
  onRig('disconnect', endedByWorker, rig => rig.disconnect()),
  { weight: 2, arbitrary: onRig('drain', [], (rig, fleet) => fleet.drain(rig)) },
  { weight: 2, arbitrary: onRig('undrain', ['draining'], (rig, fleet) => fleet.undrain(rig)) },
  onJob('cancel', endedByWorker, (id, fleet) => fleet.cancel(id)),
  {
    weight: 2,
    arbitrary: onJob('approve', ['approval'], (id, fleet) => fleet.orchestrator.jobs.approve(id, ada)),
  },
  onJob('priority', [], (id, fleet) => fleet.orchestrator.jobs.setPriority(id, 30, ada)),
  onJob('top', [], (id, fleet) => fleet.orchestrator.jobs.moveToTop(id, ada)),
  { weight: 2, arbitrary: limits },
  onQueue('pause', [], fleet => fleet.orchestrator.queue.pause('new disks', ada)),
  { weight: 3, arbitrary: onQueue('resume', ['paused'], fleet => fleet.orchestrator.queue.resume(ada)) },
  fc
    .constantFrom(1, 20, 50, 170, 700)
    .map(
      (seconds): Action =>
        named(`${seconds} s`, ['backoff', 'settling', 'quarantined', ...endedByWorker], ({ fleet }) =>
          fleet.clock.advance(seconds * 1000),
        ),
    ),
  onQueue('restart', ['offline'], fleet => fleet.restart({ crash: true })),
);

// Most scripts start with some workers, and some scripts start with limits.
const script = fc
  .tuple(
    fc.array(join, { maxLength: 4 }),
    fc.array(limits, { maxLength: 1 }),
    fc.array(anyAction, { minLength: 6, maxLength: 30 }),
  )
  .map(parts => parts.flat());

const explain = (fleet: Fleet, id: JobId): Explanation => valueOf(fleet.orchestrator.jobs.explain(id));

// Recomputes the match from the lists of workers and jobs, as a user could.
function couldTake(worker: WorkerView, job: JobDetail): boolean {
  const kind = worker.labels['kind'];
  const { kind: required, rig = worker.labels['rig'] } = job.worker_labels;
  const hasKind =
    required === undefined || (required === 'a*' ? kind?.startsWith('a') === true : kind === required);
  const isGuarded = job.on_lost_contact === 'continue' || worker.protocol === 2;
  const isNamedRig = rig === worker.labels['rig'];
  return worker.status === 'idle' && worker.gpu_count >= job.gpu_count && hasKind && isGuarded && isNamedRig;
}

// Computes the expected blockers of a job from the settings of the queue.
function expectedBlockers(fleet: Fleet, job: JobDetail, jobs: readonly JobDetail[]): readonly string[] {
  const { paused, max_concurrent: max, user_max_concurrent: maxOfUser } = fleet.orchestrator.queue.view();
  const live = jobs.filter(
    ({ status }) => !['pending', 'blocked', 'completed', 'failed', 'cancelled'].includes(status),
  );
  const ofUser = live.filter(({ user }) => user === job.user);
  return [
    ...(job.approval === 'wanted' ? ['approval'] : []),
    ...(paused === null ? [] : ['paused']),
    ...(max !== null && live.length >= max ? ['limit'] : []),
    ...(maxOfUser !== null && ofUser.length >= maxOfUser ? ['limit'] : []),
  ];
}

// The reason codes that the scripts have produced, with their counts.
const coveredCodes = new Map<string, number>();

function checkPending({ fleet, jobs }: Scene): Map<JobId, Explanation> {
  const views = jobs.map(id => fleet.job(id));
  const workers = fleet.orchestrator.workers.list(undefined);
  const pending = views.filter(({ status }) => isWaiting(status));
  return new Map(
    pending.map(job => {
      const explanation = explain(fleet, job.id);
      const { reasons, summary, unsatisfiable } = explanation;
      const codes = reasons.map(({ code }) => code);
      expect(summary).toBe(job.reason);
      expect(codes.filter(code => code !== 'backoff')).toEqual(expectedBlockers(fleet, job, views));
      expect(explanation.workers.map(({ worker_id: id }) => id)).toEqual(workers.map(({ id }) => id));
      for (const [index, { fits, reasons: workerReasons }] of explanation.workers.entries()) {
        const worker = workers[index];
        if (worker === undefined) throw new Error('a worker is missing');
        expect(fits).toBe(workerReasons.every(({ code }) => code === 'avoid_previous'));
        if (worker.quarantine === null)
          expect([worker.name, fits]).toEqual([worker.name, couldTake(worker, job)]);
        // A job with a fitting worker must not be pending unless it has a blocker.
        if (codes.length === 0) expect(`${worker.name} fits ${job.id}: ${fits}`).toMatch(/false$/);
        if (fits) expect(unsatisfiable).toBe(false);
      }
      const ofWorkers = explanation.workers.flatMap(({ reasons: workerReasons }) => workerReasons);
      for (const { code } of [...reasons, ...ofWorkers])
        coveredCodes.set(code, (coveredCodes.get(code) ?? 0) + 1);
      return [job.id, explanation];
    }),
  );
}

// A job that was just dispatched must have had no blockers other than those that the action can end.
function checkDispatched(
  { fleet }: Scene,
  before: ReadonlyMap<JobId, Explanation>,
  ends: readonly string[],
): void {
  const remains = ({ code }: { readonly code: string }): boolean =>
    !ends.includes(code) && code !== 'avoid_previous';
  for (const [id, { reasons, workers }] of before) {
    const job = fleet.job(id);
    if (job.status !== 'dispatched') continue;
    const taker = workers.find(({ worker_id: worker }) => worker === job.worker_id);
    coveredCodes.set('dispatched', (coveredCodes.get('dispatched') ?? 0) + 1);
    expect([id, ...reasons.filter(remains), ...(taker?.reasons.filter(remains) ?? [])]).toEqual([id]);
  }
}

test('explains pending jobs exactly as dispatch treats them', { timeout: 120_000 }, async () => {
  let states = 0;
  await fc.assert(
    fc.asyncProperty(script, async actions => {
      const fleet = await createFleet();
      const scene = { fleet, rigs: [], jobs: [] };
      try {
        let before = checkPending(scene);
        for (const { ends, perform } of actions) {
          await perform(scene);
          checkDispatched(scene, before, ends);
          before = checkPending(scene);
          states += 1;
        }
      } finally {
        await fleet.close();
      }
    }),
    { numRuns: 120 },
  );
  expect(states).toBeGreaterThan(1000);
  const ofJobs = ['approval', 'paused', 'limit'];
  const ofWorkers = ['offline', 'draining', 'busy', 'no_stream', 'never_registered', 'settling'];
  const mismatches = ['gpu_count', 'label', 'guard'];
  expect(
    ['dispatched', ...ofJobs, ...ofWorkers, ...mismatches].filter(code => !coveredCodes.has(code)),
  ).toEqual([]);
});
