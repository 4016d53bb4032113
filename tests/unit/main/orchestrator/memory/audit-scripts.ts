// Scripts of what users, workers, the disk and the process may do to a fleet, in any order, permitted or not.
import fc from 'fast-check';
import { expect } from 'vitest';
import { AttemptId, type JobId } from '../../../../../protocol/ids.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import { ada, bob, type Fleet, hashOf } from '../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../support/fleet-worker.ts';

export interface World {
  readonly fleet: Fleet;
  readonly workers: FleetWorker[];
  readonly jobs: JobId[];
}

// One act. The numbers choose among the existing workers and jobs.
interface Step {
  readonly act: Act;
  readonly worker: number;
  readonly job: number;
}

export type Script = readonly Step[];

type Does = (world: World, step: Step) => Promise<unknown>;
type OfWorker = (worker: FleetWorker, world: World, step: Step) => Promise<unknown>;
type OfJob = (job: JobId, world: World) => Promise<unknown>;

const hourMs = 3_600_000;

const pick = <T>(all: readonly T[], number: number): T | undefined => all[number % all.length];

const toWorker =
  (act: OfWorker): Does =>
  async (world, step) => {
    const worker = pick(world.workers, step.worker);
    if (worker !== undefined) await act(worker, world, step);
  };

const toJob =
  (act: OfJob): Does =>
  async (world, step) => {
    const job = pick(world.jobs, step.job);
    if (job !== undefined) await act(job, world);
  };

// Most likely the job that the worker was last offered, else any job.
const about = (worker: FleetWorker, { jobs }: World, { job }: Step): JobId | undefined =>
  job % 4 === 0 ? pick(jobs, job) : (worker.commandsOf('job_submit').at(-1)?.job_id ?? pick(jobs, job));

const reports = (
  ...report: Parameters<FleetWorker['report']> extends [JobId, ...infer R] ? R : never
): Does =>
  toWorker(async (worker, world, step) => {
    const job = about(worker, world, step);
    if (job !== undefined) await worker.report(job, ...report);
  });

// Creates a join token and uses it twice. The second use changes nothing.
const joinAgain: OfWorker = async (worker, { fleet: { orchestrator } }) => {
  const { token } = valueOf(await orchestrator.workers.createJoinToken(worker.id, hourMs, ada));
  const own = hashOf(`wt_for_${token}`);
  for (let time = 0; time < 2; time += 1)
    valueOf(await orchestrator.workers.join(hashOf(token), own, '10.0.0.9'));
};

const submits =
  (...job: Parameters<Fleet['submit']>): Does =>
  async ({ fleet, jobs }) => {
    jobs.push((await fleet.submit(...job)).jobId);
  };

const queue =
  (act: (orchestrator: Fleet['orchestrator']) => Promise<unknown>): Does =>
  ({ fleet }) =>
    act(fleet.orchestrator);

const adds =
  (type: 'persistent' | 'ephemeral', protocol: 1 | 2): Does =>
  async ({ fleet, workers }) => {
    if (workers.length >= 4) return;
    const worker = await fleet.addWorker({ type });
    workers.push(worker);
    await worker.connect({ protocol });
  };

// Interrupts the process like kill -9: a started write is then committed or lost.
const cutOff =
  (does: Does): Does =>
  async (world, step) => {
    void does(world, step).catch(() => {});
    await world.fleet.restart({ crash: true });
  };

const submit = submits({ max_retries: 1 });
const run = toWorker(async (worker, world) => {
  const { fleet, jobs } = world;
  const { jobId, workerId } = await fleet.submit();
  jobs.push(jobId);
  if (workerId === worker.id) await worker.run(jobId);
});
// Requests the action twice. The second request changes nothing.
const ask = toWorker(async (worker, { fleet, jobs }) => {
  const config = { $requests: { save: { signal: 'SIGUSR1' } } };
  const { jobId, workerId } = await fleet.submit({ config });
  jobs.push(jobId);
  if (workerId === worker.id) await worker.run(jobId);
  for (let time = 0; time < 2; time += 1) await fleet.orchestrator.jobs.requestAction(jobId, 'save', bob);
});
const failToStart = toWorker(async (worker, { fleet, jobs }) => {
  for (let job = 0; job < 3; job++) {
    const { jobId, workerId } = await fleet.submit({ max_retries: 0 });
    jobs.push(jobId);
    if (workerId !== worker.id) return;
    await worker.report(jobId, 'starting');
    await worker.report(jobId, 'failed', { cause: 'start_failed' });
  }
});
const cancel = toJob((job, { fleet }) => fleet.cancel(job));
const retry = toJob(async (job, { fleet, jobs }) => {
  const again = await fleet.orchestrator.jobs.retry(job, ada);
  if (again.ok && again.value.status !== 'rejected') jobs.push(again.value.jobId);
});
const submitAgain: Does = async ({ fleet, jobs }, { job }) => {
  const key = { key: `key-${job % 3}`, fingerprint: `f-${job % 4}` };
  const answer = await fleet.trySubmit({}, job % 2 === 0 ? ada : bob, key);
  if (answer.ok && answer.value.status !== 'rejected') jobs.push(answer.value.jobId);
};
const endAll: Does = async ({ fleet, jobs }) => {
  for (const job of jobs) await fleet.cancel(job);
};
const pauseQueue = queue(orchestrator => orchestrator.queue.pause('mains', bob));
const submitBlocked = submits({ requires_approval: true });
const approve = toJob((job, { fleet }) => fleet.orchestrator.jobs.approve(job, bob));
const isRunning = reports('running');

const acts = {
  add: adds('persistent', 2),
  addV1: adds('persistent', 1),
  addEphemeral: adds('ephemeral', 2),
  register: toWorker(worker => worker.tryRegister()),
  registerHolding: toWorker((worker, world, step) =>
    worker.tryRegister({ currentJobId: about(worker, world, step) }),
  ),
  registerElsewhere: toWorker((worker, _world, { job }) =>
    worker.tryRegister({ instanceId: `machine-${job}`, host: `host-${job}`, address: `10.0.1.${job}` }),
  ),
  stream: toWorker(worker => worker.openStream()),
  drop: toWorker(worker => worker.stream.drop()),
  goodbye: toWorker(worker => worker.disconnect()),
  beat: toWorker(worker => worker.beat()),
  beatHolding: toWorker((worker, world, step) => worker.beat(about(worker, world, step))),
  beatProgress: toWorker((worker, world, step) =>
    worker.beat(about(worker, world, step), { job_progress: { step: step.job } }),
  ),
  gpuTrouble: toWorker((worker, world, step) =>
    worker.beat(about(worker, world, step), {
      gpu_troubles: [{ gpu: 0, kind: 'held', detail: `process ${step.job} holds it` }],
    }),
  ),
  gpusWell: toWorker((worker, world, step) => worker.beat(about(worker, world, step), { gpu_troubles: [] })),
  close: toWorker((worker, world, step) =>
    worker.beat(about(worker, world, step), {
      closed: { reason: 'hours', detail: `opens at ${step.job}`, opens_at: null },
    }),
  ),
  reopen: toWorker((worker, world, step) => worker.beat(about(worker, world, step), { closed: null })),
  starting: reports('starting'),
  running: isRunning,
  progress: reports('running', { progress: { step: 7 } }),
  completed: reports('completed', { progress: { step: 9 } }),
  failed: reports('failed', { exit_code: 1 }),
  preempted: reports('failed', { signal: 'SIGTERM' }),
  cancelled: reports('cancelled'),
  stale: toWorker((worker, { jobs }, { job }) => {
    const other = pick(jobs, job);
    const attempt_id = AttemptId.parse(`a_${job + 1}`);
    return other === undefined ? Promise.resolve() : worker.report(other, 'completed', { attempt_id });
  }),
  submit,
  submitShort: submits({ timeout_s: 2, retry_on: ['timeout'] }),
  submitOther: submits({ max_retries: 1 }, bob),
  submitBlocked,
  submitOrLeave: submits({ no_wait: true }),
  submitAgain,
  run,
  ask,
  failToStart,
  cancel,
  approve,
  reject: toJob((job, { fleet }) => fleet.orchestrator.jobs.reject(job, 'too dear', bob)),
  setPriority: toJob((job, { fleet }) => fleet.orchestrator.jobs.setPriority(job, 20, bob)),
  edit: toJob((job, { fleet }) => fleet.orchestrator.jobs.edit(job, { name: `Job ${job}`, notes: 'n' }, bob)),
  move: toJob((job, { fleet, jobs }) => {
    const id = jobs.find(each => each !== job);
    return id === undefined
      ? Promise.resolve()
      : fleet.orchestrator.jobs.move(job, { id, side: 'before' }, bob);
  }),
  moveToTop: toJob((job, { fleet }) => fleet.orchestrator.jobs.moveToTop(job, bob)),
  retry,
  deleteJob: toJob((job, { fleet }) => fleet.orchestrator.jobs.remove(job, bob)),
  cleanUp: queue(orchestrator => orchestrator.queue.cleanUp(0, bob)),
  pauseQueue,
  resumeQueue: queue(orchestrator => orchestrator.queue.resume(bob)),
  limitOne: queue(orchestrator => orchestrator.queue.limit({ max_concurrent: 1 }, bob)),
  limitUsers: queue(orchestrator => orchestrator.queue.limit({ user_max_concurrent: 1 }, bob)),
  limitNone: queue(orchestrator =>
    orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, bob),
  ),
  processQueue: queue(orchestrator => orchestrator.queue.process()),
  rename: toWorker((worker, { fleet }, { job }) =>
    fleet.orchestrator.workers.update(worker.id, { name: `rig ${job}`, labels: { team: `t${job}` } }, bob),
  ),
  release: toJob((job, { fleet }) => fleet.release(job)),
  drain: toWorker((worker, { fleet }) => fleet.drain(worker, { reason: 'dust' })),
  drainSoon: toWorker((worker, { fleet }) => fleet.drain(worker, { deadlineMs: 1_000 })),
  undrain: toWorker((worker, { fleet }) => fleet.undrain(worker)),
  unquarantine: toWorker((worker, { fleet }) => fleet.orchestrator.workers.unquarantine(worker.id, ada)),
  rotate: toWorker((worker, { fleet }) => fleet.orchestrator.workers.rotateToken(worker.id, 'now', ada)),
  rotateLater: toWorker((worker, { fleet }) =>
    fleet.orchestrator.workers.rotateToken(worker.id, 'after_job', ada),
  ),
  join: toWorker(joinAgain),
  remove: toWorker((worker, { fleet }) => fleet.orchestrator.workers.remove(worker.id, ada)),
  endAll,
  second: ({ fleet }) => fleet.clock.advance(1_000),
  hour: ({ fleet }) => fleet.clock.advance(hourMs),
  silence: ({ fleet }) => fleet.clock.advance(6_500),
  takeover: ({ fleet }) => fleet.clock.advance(8_500),
  pause: ({ fleet }) => fleet.clock.pause(10_000),
  clockBack: async ({ fleet }) => fleet.clock.shiftWall(-hourMs),
  clockOn: async ({ fleet }) => fleet.clock.shiftWall(hourMs),
  restart: ({ fleet }) => fleet.restart(),
  crash: ({ fleet }) => fleet.restart({ crash: true }),
  crashInSubmit: cutOff(submit),
  crashInCancel: cutOff(cancel),
  crashInPause: cutOff(pauseQueue),
  crashInApproval: cutOff(approve),
  crashInRetry: cutOff(retry),
  crashInReport: cutOff(isRunning),
  full: ({ fleet }) => fleet.setDiskFull(true),
  room: ({ fleet }) => fleet.setDiskFull(false),
} satisfies Readonly<Record<string, Does>>;

type Act = keyof typeof acts;

// Acts that scripts need often to make progress.
const often: readonly Act[] = [
  'add',
  'submit',
  'run',
  'running',
  'completed',
  'room',
  'resumeQueue',
  'limitNone',
  'beatHolding',
];
// `hour` is slow: it takes hundreds of health checks.
const anyAct = (Object.keys(acts) as Act[]).filter(act => act !== 'hour');

const anyStep: fc.Arbitrary<Step> = fc.record({
  act: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...anyAct) },
    { weight: 1, arbitrary: fc.constantFrom(...often) },
  ),
  worker: fc.nat(3),
  job: fc.nat(15),
});

// Each script starts with a worker.
export const scripts: fc.Arbitrary<Script> = fc
  .array(anyStep, { minLength: 20, maxLength: 60 })
  .map(steps => [{ act: 'add', worker: 0, job: 0 }, ...steps]);

const script = (...steps: readonly (readonly [Act, number])[]): Script =>
  steps.map(([act, worker]) => ({ act, worker, job: 1 }));

// Rare sequences, such as a quarantine that ends, a deleted worker, or a late result.
export const seldom: readonly Script[] = [
  script(['add', 0], ['failToStart', 0], ['unquarantine', 0], ['drain', 0], ['undrain', 0]),
  script(['add', 0], ['goodbye', 0], ['remove', 0]),
  script(['add', 0], ['gpuTrouble', 0], ['submit', 0], ['gpusWell', 0], ['gpusWell', 0]),
  script(['add', 0], ['close', 0], ['submit', 0], ['reopen', 0], ['close', 0], ['register', 0]),
  script(['add', 0], ['join', 0]),
  script(['add', 0], ['ask', 0]),
  script(['add', 0], ['run', 0], ['takeover', 0], ['add', 1], ['completed', 0]),
  script(
    ['submitBlocked', 0],
    ['submitBlocked', 0],
    ['setPriority', 0],
    ['edit', 0],
    ['approve', 0],
    ['rename', 0],
  ),
  script(['pauseQueue', 0], ['submit', 0], ['submit', 0], ['moveToTop', 0], ['hour', 0], ['resumeQueue', 0]),
  script(['pauseQueue', 0], ['submit', 0], ['submit', 0], ['move', 0], ['resumeQueue', 0]),
  script(['submit', 0], ['submit', 0], ['endAll', 0], ['deleteJob', 0], ['second', 0], ['cleanUp', 0]),
  // A job that ends while the clock is ahead expires early, even if the clock is set back.
  script(
    ['add', 0],
    ['clockOn', 0],
    ['submit', 0],
    ['endAll', 0],
    ['clockBack', 0],
    ['second', 0],
    ['cleanUp', 0],
  ),
];

// The permitted failures of a call: a refusal, or a full disk.
const allowed = /^(refused: |the job was rejected: |database or disk is full$|the worker has had no )/;

export async function play(world: World, step: Step): Promise<void> {
  try {
    await acts[step.act](world, step);
  } catch (cause) {
    if (!(cause instanceof Error) || !allowed.test(cause.message)) throw cause;
  }
  await world.fleet.clock.settle();
}

// Only the orchestrator's own commands that failed on the full disk may be in the log.
export function expectOnlyDiskErrors(fleet: Fleet): void {
  for (const error of fleet.errors.splice(0))
    expect(error).toMatch(/^command\.failed: StorageError: database or disk is full/);
}
