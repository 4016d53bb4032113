// Random scripts for a fleet: calls by users and workers, permitted or not, and changes of disk, clock and process.
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

// One action. The numbers choose among the existing workers and jobs.
interface Step {
  readonly action: ActionName;
  readonly worker: number;
  readonly job: number;
}

export type Script = readonly Step[];

type Action = (world: World, step: Step) => Promise<unknown>;
type WorkerAction = (worker: FleetWorker, world: World, step: Step) => Promise<unknown>;
type JobAction = (job: JobId, world: World) => Promise<unknown>;

const hourMs = 3_600_000;

const pick = <T>(items: readonly T[], number: number): T | undefined => items[number % items.length];

const onWorker =
  (action: WorkerAction): Action =>
  async (world, step) => {
    const worker = pick(world.workers, step.worker);
    if (worker !== undefined) await action(worker, world, step);
  };

const onJob =
  (action: JobAction): Action =>
  async (world, step) => {
    const job = pick(world.jobs, step.job);
    if (job !== undefined) await action(job, world);
  };

// Returns the job that was last offered to the worker, or any job in one of four cases.
const chooseJob = (worker: FleetWorker, { jobs }: World, { job }: Step): JobId | undefined =>
  job % 4 === 0 ? pick(jobs, job) : (worker.commandsOf('job_submit').at(-1)?.job_id ?? pick(jobs, job));

const reports = (
  ...report: Parameters<FleetWorker['report']> extends [JobId, ...infer R] ? R : never
): Action =>
  onWorker(async (worker, world, step) => {
    const job = chooseJob(worker, world, step);
    if (job !== undefined) await worker.report(job, ...report);
  });

// Creates a join token and uses the token twice. The second use changes nothing.
const joinTwice: WorkerAction = async (worker, { fleet: { orchestrator } }) => {
  const { token } = valueOf(await orchestrator.workers.createJoinToken(worker.id, hourMs, ada));
  const tokenHash = hashOf(`wt_for_${token}`);
  for (let n = 0; n < 2; n += 1)
    valueOf(await orchestrator.workers.join(hashOf(token), tokenHash, '10.0.0.9'));
};

const submits =
  (...job: Parameters<Fleet['submit']>): Action =>
  async ({ fleet, jobs }) => {
    jobs.push((await fleet.submit(...job)).jobId);
  };

const onQueue =
  (action: (orchestrator: Fleet['orchestrator']) => Promise<unknown>): Action =>
  ({ fleet }) =>
    action(fleet.orchestrator);

const adds =
  (type: 'persistent' | 'ephemeral', protocol: 1 | 2): Action =>
  async ({ fleet, workers }) => {
    if (workers.length >= 4) return;
    const worker = await fleet.addWorker({ type });
    workers.push(worker);
    await worker.connect({ protocol });
  };

// Starts the action and kills the process at the same time. A write that has started is either committed or lost.
const crashDuring =
  (action: Action): Action =>
  async (world, step) => {
    void action(world, step).catch(() => {});
    await world.fleet.restart({ crash: true });
  };

const submit = submits({ max_retries: 1 });
// Submits a job, and starts it if it was dispatched to the worker.
const run = onWorker(async (worker, world) => {
  const { fleet, jobs } = world;
  const { jobId, workerId } = await fleet.submit();
  jobs.push(jobId);
  if (workerId === worker.id) await worker.run(jobId);
});
// Requests a trainer action twice. The second request changes nothing.
const requestAction = onWorker(async (worker, { fleet, jobs }) => {
  const config = { $requests: { save: { signal: 'SIGUSR1' } } };
  const { jobId, workerId } = await fleet.submit({ config });
  jobs.push(jobId);
  if (workerId === worker.id) await worker.run(jobId);
  for (let n = 0; n < 2; n += 1) await fleet.orchestrator.jobs.requestAction(jobId, 'save', bob);
});
const failToStart = onWorker(async (worker, { fleet, jobs }) => {
  for (let job = 0; job < 3; job++) {
    const { jobId, workerId } = await fleet.submit({ max_retries: 0 });
    jobs.push(jobId);
    if (workerId !== worker.id) return;
    await worker.report(jobId, 'starting');
    await worker.report(jobId, 'failed', { cause: 'start_failed' });
  }
});
const cancel = onJob((job, { fleet }) => fleet.cancel(job));
const retry = onJob(async (job, { fleet, jobs }) => {
  const outcome = await fleet.orchestrator.jobs.retry(job, ada);
  if (outcome.ok && outcome.value.status !== 'rejected') jobs.push(outcome.value.jobId);
});
// Submits with one of three idempotency keys, so that scripts repeat keys.
const submitWithKey: Action = async ({ fleet, jobs }, { job }) => {
  const key = { key: `key-${job % 3}`, fingerprint: `f-${job % 4}` };
  const outcome = await fleet.trySubmit({}, job % 2 === 0 ? ada : bob, key);
  if (outcome.ok && outcome.value.status !== 'rejected') jobs.push(outcome.value.jobId);
};
const endAll: Action = async ({ fleet, jobs }) => {
  for (const job of jobs) await fleet.cancel(job);
};
const pauseQueue = onQueue(orchestrator => orchestrator.queue.pause('maintenance', bob));
const submitBlocked = submits({ requires_approval: true });
const approve = onJob((job, { fleet }) => fleet.orchestrator.jobs.approve(job, bob));
const reportRunning = reports('running');

const actions = {
  add: adds('persistent', 2),
  addV1: adds('persistent', 1),
  addEphemeral: adds('ephemeral', 2),
  register: onWorker(worker => worker.tryRegister()),
  registerWithJob: onWorker((worker, world, step) =>
    worker.tryRegister({ currentJobId: chooseJob(worker, world, step) }),
  ),
  registerElsewhere: onWorker((worker, _world, { job }) =>
    worker.tryRegister({ instanceId: `machine-${job}`, host: `host-${job}`, address: `10.0.1.${job}` }),
  ),
  stream: onWorker(worker => worker.openStream()),
  drop: onWorker(worker => worker.stream.drop()),
  disconnect: onWorker(worker => worker.disconnect()),
  heartbeat: onWorker(worker => worker.beat()),
  heartbeatWithJob: onWorker((worker, world, step) => worker.beat(chooseJob(worker, world, step))),
  heartbeatWithProgress: onWorker((worker, world, step) =>
    worker.beat(chooseJob(worker, world, step), { job_progress: { step: step.job } }),
  ),
  gpuTrouble: onWorker((worker, world, step) =>
    worker.beat(chooseJob(worker, world, step), {
      gpu_troubles: [{ gpu: 0, kind: 'held', detail: `process ${step.job} holds it` }],
    }),
  ),
  gpuTroubleOver: onWorker((worker, world, step) =>
    worker.beat(chooseJob(worker, world, step), { gpu_troubles: [] }),
  ),
  close: onWorker((worker, world, step) =>
    worker.beat(chooseJob(worker, world, step), {
      closed: { reason: 'hours', detail: `opens at ${step.job}`, opens_at: null },
    }),
  ),
  reopen: onWorker((worker, world, step) => worker.beat(chooseJob(worker, world, step), { closed: null })),
  starting: reports('starting'),
  running: reportRunning,
  progress: reports('running', { progress: { step: 7 } }),
  completed: reports('completed', { progress: { step: 9 } }),
  failed: reports('failed', { exit_code: 1 }),
  preempted: reports('failed', { signal: 'SIGTERM' }),
  cancelled: reports('cancelled'),
  reportStale: onWorker((worker, { jobs }, { job }) => {
    const id = pick(jobs, job);
    const attempt_id = AttemptId.parse(`a_${job + 1}`);
    return id === undefined ? Promise.resolve() : worker.report(id, 'completed', { attempt_id });
  }),
  submit,
  submitShort: submits({ timeout_s: 2, retry_on: ['timeout'] }),
  submitAsBob: submits({ max_retries: 1 }, bob),
  submitBlocked,
  submitNoWait: submits({ no_wait: true }),
  submitWithKey,
  run,
  requestAction,
  failToStart,
  cancel,
  approve,
  reject: onJob((job, { fleet }) => fleet.orchestrator.jobs.reject(job, 'too expensive', bob)),
  setPriority: onJob((job, { fleet }) => fleet.orchestrator.jobs.setPriority(job, 20, bob)),
  edit: onJob((job, { fleet }) => fleet.orchestrator.jobs.edit(job, { name: `Job ${job}`, notes: 'n' }, bob)),
  move: onJob((job, { fleet, jobs }) => {
    const id = jobs.find(candidate => candidate !== job);
    return id === undefined
      ? Promise.resolve()
      : fleet.orchestrator.jobs.move(job, { id, side: 'before' }, bob);
  }),
  moveToTop: onJob((job, { fleet }) => fleet.orchestrator.jobs.moveToTop(job, bob)),
  retry,
  deleteJob: onJob((job, { fleet }) => fleet.orchestrator.jobs.remove(job, bob)),
  cleanUp: onQueue(orchestrator => orchestrator.queue.cleanUp(0, bob)),
  pauseQueue,
  resumeQueue: onQueue(orchestrator => orchestrator.queue.resume(bob)),
  limitOne: onQueue(orchestrator => orchestrator.queue.limit({ max_concurrent: 1 }, bob)),
  limitUsers: onQueue(orchestrator => orchestrator.queue.limit({ user_max_concurrent: 1 }, bob)),
  limitNone: onQueue(orchestrator =>
    orchestrator.queue.limit({ max_concurrent: null, user_max_concurrent: null }, bob),
  ),
  processQueue: onQueue(orchestrator => orchestrator.queue.process()),
  rename: onWorker((worker, { fleet }, { job }) =>
    fleet.orchestrator.workers.update(worker.id, { name: `rig ${job}`, labels: { team: `t${job}` } }, bob),
  ),
  release: onJob((job, { fleet }) => fleet.release(job)),
  drain: onWorker((worker, { fleet }) => fleet.drain(worker, { reason: 'maintenance' })),
  drainSoon: onWorker((worker, { fleet }) => fleet.drain(worker, { deadlineMs: 1_000 })),
  undrain: onWorker((worker, { fleet }) => fleet.undrain(worker)),
  unquarantine: onWorker((worker, { fleet }) => fleet.orchestrator.workers.unquarantine(worker.id, ada)),
  rotate: onWorker((worker, { fleet }) => fleet.orchestrator.workers.rotateToken(worker.id, 'now', ada)),
  rotateLater: onWorker((worker, { fleet }) =>
    fleet.orchestrator.workers.rotateToken(worker.id, 'after_job', ada),
  ),
  join: onWorker(joinTwice),
  remove: onWorker((worker, { fleet }) => fleet.orchestrator.workers.remove(worker.id, ada)),
  endAll,
  second: ({ fleet }) => fleet.clock.advance(1_000),
  hour: ({ fleet }) => fleet.clock.advance(hourMs),
  silence: ({ fleet }) => fleet.clock.advance(6_500),
  takeover: ({ fleet }) => fleet.clock.advance(8_500),
  pause: ({ fleet }) => fleet.clock.pause(10_000),
  clockBack: async ({ fleet }) => fleet.clock.shiftWall(-hourMs),
  clockForward: async ({ fleet }) => fleet.clock.shiftWall(hourMs),
  restart: ({ fleet }) => fleet.restart(),
  crash: ({ fleet }) => fleet.restart({ crash: true }),
  crashInSubmit: crashDuring(submit),
  crashInCancel: crashDuring(cancel),
  crashInPause: crashDuring(pauseQueue),
  crashInApproval: crashDuring(approve),
  crashInRetry: crashDuring(retry),
  crashInReport: crashDuring(reportRunning),
  fillDisk: ({ fleet }) => fleet.setDiskFull(true),
  freeDisk: ({ fleet }) => fleet.setDiskFull(false),
} satisfies Readonly<Record<string, Action>>;

type ActionName = keyof typeof actions;

// Actions that scripts need often to make progress.
const frequentActions: readonly ActionName[] = [
  'add',
  'submit',
  'run',
  'running',
  'completed',
  'freeDisk',
  'resumeQueue',
  'limitNone',
  'heartbeatWithJob',
];
// `hour` is slow, because it runs hundreds of health checks.
const anyAction = (Object.keys(actions) as ActionName[]).filter(name => name !== 'hour');

const anyStep: fc.Arbitrary<Step> = fc.record({
  action: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...anyAction) },
    { weight: 1, arbitrary: fc.constantFrom(...frequentActions) },
  ),
  worker: fc.nat(3),
  job: fc.nat(15),
});

// Each script starts with a worker.
export const scripts: fc.Arbitrary<Script> = fc
  .array(anyStep, { minLength: 20, maxLength: 60 })
  .map(steps => [{ action: 'add', worker: 0, job: 0 }, ...steps]);

const script = (...steps: readonly (readonly [ActionName, number])[]): Script =>
  steps.map(([action, worker]) => ({ action, worker, job: 1 }));

// Sequences that random scripts rarely contain, such as a quarantine that ends, a deleted worker, or a late result.
export const rareScripts: readonly Script[] = [
  script(['add', 0], ['failToStart', 0], ['unquarantine', 0], ['drain', 0], ['undrain', 0]),
  script(['add', 0], ['disconnect', 0], ['remove', 0]),
  script(['add', 0], ['gpuTrouble', 0], ['submit', 0], ['gpuTroubleOver', 0], ['gpuTroubleOver', 0]),
  script(['add', 0], ['close', 0], ['submit', 0], ['reopen', 0], ['close', 0], ['register', 0]),
  script(['add', 0], ['join', 0]),
  script(['add', 0], ['requestAction', 0]),
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
    ['clockForward', 0],
    ['submit', 0],
    ['endAll', 0],
    ['clockBack', 0],
    ['second', 0],
    ['cleanUp', 0],
  ),
];

// The permitted failures of an action: a refusal, a full disk, or a missing offer or stream.
const allowedErrors = /^(refused: |the job was rejected: |database or disk is full$|the worker has had no )/;

export async function play(world: World, step: Step): Promise<void> {
  try {
    await actions[step.action](world, step);
  } catch (cause) {
    if (!(cause instanceof Error) || !allowedErrors.test(cause.message)) throw cause;
  }
  await world.fleet.clock.settle();
}

// The log must contain only commands that the orchestrator ran itself and that failed because of the full disk.
export function expectOnlyDiskErrors(fleet: Fleet): void {
  for (const error of fleet.errors.splice(0))
    expect(error).toMatch(/^command\.failed: StorageError: database or disk is full/);
}
