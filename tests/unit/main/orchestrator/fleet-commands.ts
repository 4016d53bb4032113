// Random commands for the model-based test of a fleet: every call that users and workers can send, valid or not.
import fc from 'fast-check';
import type { JobId } from '../../../../protocol/ids.ts';
import { finalStatuses, isWaiting, type JobDetail } from '../../../../protocol/job.ts';
import type { Outcome } from '../../../../protocol/problem.ts';
import { ada, bob, type Fleet, hashOf } from '../../../support/fleet.ts';
import type { FleetStream, FleetWorker } from '../../../support/fleet-worker.ts';

// The expected state of the fleet, independent of what the fleet reports.
export interface FleetModel {
  jobs: number;
  isPaused: boolean;
  readonly limits: { max_concurrent: number | null; user_max_concurrent: number | null };
  // The first job and its request fingerprint, by idempotency key.
  readonly keyed: Map<string, { readonly job: JobId; readonly fingerprint: string }>;
  readonly deletedJobs: Set<JobId>;
  // Indexes into `RealFleet.workers`.
  readonly drainingWorkers: Set<number>;
  readonly deletedWorkers: Set<number>;
  // Tokens that must be rejected.
  readonly revokedTokens: string[];
  isDiskFull: boolean;
}

export interface RealFleet {
  readonly fleet: Fleet;
  readonly workers: readonly FleetWorker[];
  readonly tokens: string[];
  readonly jobs: JobId[];
  readonly streams: Map<number, FleetStream>;
  // Checks the invariants after every command.
  readonly checkInvariants: (model: FleetModel) => void;
}

type Command = fc.AsyncCommand<FleetModel, RealFleet>;
type Run = (model: FleetModel, real: RealFleet) => Promise<void>;

// Creates a command that calls `run` and then checks the invariants. `run` throws on an unexpected result.
function command(name: string, run: Run, check: (model: FleetModel) => boolean = () => true): Command {
  return {
    check,
    async run(model, real) {
      try {
        await run(model, real);
      } catch (cause) {
        // While the disk is full, any command can fail with a StorageError.
        if (!model.isDiskFull || !(cause instanceof Error) || cause.name !== 'StorageError') throw cause;
      }
      await real.fleet.clock.settle();
      real.checkInvariants(model);
    },
    toString: () => name,
  };
}

const workerIndex = fc.nat({ max: 2 });
const anyJobIndex = fc.nat({ max: 7 });
// Returns a job for any index, or null when no job exists yet.
const jobAt = ({ jobs }: RealFleet, index: number): JobId | null =>
  jobs[index % Math.max(1, jobs.length)] ?? null;
const nameJob = (index: number | null): string => (index === null ? 'no job' : `job ${index}`);
const workerAt = ({ workers }: RealFleet, index: number): FleetWorker => {
  const rig = workers[index];
  if (rig === undefined) throw new Error(`there is no worker ${index}`);
  return rig;
};

function expectThat(isTrue: boolean, violation: string): void {
  if (!isTrue) throw new Error(violation);
}

const workerCommand = (
  index: number,
  name: string,
  run: (rig: FleetWorker, model: FleetModel, real: RealFleet) => Promise<void>,
): Command =>
  command(
    `${name} of worker ${index}`,
    (model, real) => run(workerAt(real, index), model, real),
    ({ deletedWorkers }) => !deletedWorkers.has(index),
  );

const submits = fc
  .record({
    max_retries: fc.nat({ max: 3 }),
    priority: fc.constantFrom(0, 10, 40),
    timeout_s: fc.constantFrom(undefined, 60),
    // True in one of six cases, because a job that waits for approval covers little other code.
    requires_approval: fc.nat({ max: 5 }).map(n => n === 0),
    user: fc.constantFrom(ada, bob),
  })
  .map(({ user, ...options }) =>
    command(`submit ${JSON.stringify(options)}`, async (model, real) => {
      const { jobId, status } = await real.fleet.submit(options, user);
      expectThat((status === 'blocked') === options.requires_approval, `${jobId} is ${status}`);
      recordJob(model, real, jobId);
    }),
  );

function recordJob(model: FleetModel, { jobs }: RealFleet, id: JobId): void {
  jobs.push(id);
  model.jobs += 1;
}

// A job with no_wait is dispatched immediately, or is rejected without any event.
const submitsWithoutWaiting = fc.constantFrom(ada, bob).map(user =>
  command('submit without waiting', async (model, real) => {
    const { fleet } = real;
    const before = fleet.events.length;
    const waiting = fleet.store.pendingJobs().length;
    const outcome = await fleet.trySubmit({ no_wait: true }, user);
    if (!outcome.ok) throw new Error(outcome.refusal.detail);
    const submission = outcome.value;
    if (submission.status === 'rejected') {
      expectThat(fleet.events.length === before, 'a rejected job has events');
      expectThat(fleet.store.pendingJobs().length === waiting, 'a rejected job waits in the queue');
      return;
    }
    expectThat(
      submission.status === 'running',
      `the job is ${submission.status}, but must be dispatched immediately`,
    );
    recordJob(model, real, submission.jobId);
  }),
);

const keyedSubmits = fc
  .record({ key: fc.constantFrom('k1', 'k2'), fingerprint: fc.constantFrom('f1', 'f1', 'f2') })
  .map(({ key, fingerprint }) =>
    command(`submit ${fingerprint} as ${key}`, async (model, real) => {
      const first = model.keyed.get(key);
      const outcome = await real.fleet.trySubmit({}, ada, { key, fingerprint });
      const code = outcome.ok ? null : outcome.refusal.code;
      if (first === undefined) {
        if (!outcome.ok || outcome.value.status === 'rejected') throw new Error(`${key} is refused: ${code}`);
        model.keyed.set(key, { job: outcome.value.jobId, fingerprint });
        recordJob(model, real, outcome.value.jobId);
      } else if (first.fingerprint !== fingerprint) {
        expectThat(code === 'idempotency_key_reused', `${key} with another fingerprint: ${code}`);
      } else if (model.deletedJobs.has(first.job)) {
        expectThat(code === 'job_not_found', `${key} of a deleted job: ${code}`);
      } else {
        const isSame = outcome.ok && outcome.value.status !== 'rejected' && outcome.value.jobId === first.job;
        expectThat(isSame, `${key} returns another job the second time`);
      }
    }),
  );

// Creates a user's command for one job. `isAllowed` returns whether the previous state of the job allows the command.
const jobCommand = <T>(
  name: string,
  call: (id: JobId, fleet: Fleet) => Promise<Outcome<T>>,
  isAllowed: (before: JobDetail) => boolean,
  onSuccess: (id: JobId, model: FleetModel, real: RealFleet, value: T) => void = () => {},
): fc.Arbitrary<Command> =>
  anyJobIndex.map(index =>
    command(`${name} job ${index}`, async (model, real) => {
      const id = jobAt(real, index);
      if (id === null) return;
      const before = real.fleet.job(id);
      const outcome = await call(id, real.fleet);
      const result = outcome.ok ? 'is not refused' : outcome.refusal.code;
      expectThat(outcome.ok === isAllowed(before), `${name} of ${id}, which is ${before.status}, ${result}`);
      if (outcome.ok) onSuccess(id, model, real, outcome.value);
    }),
  );

const isPending = ({ status }: JobDetail): boolean => isWaiting(status);
const isBlocked = ({ status }: JobDetail): boolean => status === 'blocked';
const hasEnded = ({ status }: JobDetail): boolean => finalStatuses.some(final => final === status);

const approvals = jobCommand(
  'approval',
  (id, { orchestrator }) => orchestrator.jobs.approve(id, bob),
  isBlocked,
);
const rejections = jobCommand(
  'rejection',
  (id, { orchestrator }) => orchestrator.jobs.reject(id, 'too expensive', bob),
  isBlocked,
  (id, _model, { fleet }) =>
    expectThat(fleet.job(id).cause === 'rejected', `${id} does not say why it failed`),
);
const priorityChanges = jobCommand(
  'priority',
  (id, { orchestrator }) => orchestrator.jobs.setPriority(id, 30, bob),
  isPending,
);
const movesToTop = jobCommand(
  'move to the top',
  (id, { orchestrator }) => orchestrator.jobs.moveToTop(id, bob),
  isPending,
  (id, _model, { fleet }) => {
    const { status, position } = fleet.job(id);
    const isFirst = status !== 'pending' || position === 1;
    expectThat(isFirst, `${id} was moved to the top, and is number ${position}`);
  },
);
const retries = jobCommand(
  'retry',
  (id, { orchestrator }) => orchestrator.jobs.retry(id, bob),
  hasEnded,
  (id, model, real, retry) => {
    if (retry.status === 'rejected') throw new Error(`the retry of ${id} was rejected`);
    expectThat(real.fleet.job(retry.jobId).retry_of === id, `${retry.jobId} does not say what it retries`);
    recordJob(model, real, retry.jobId);
  },
);
const jobDeletions = jobCommand(
  'deletion',
  (id, { orchestrator }) => orchestrator.jobs.remove(id, bob),
  hasEnded,
  (id, model, { jobs }) => {
    jobs.splice(jobs.indexOf(id), 1);
    model.jobs -= 1;
    model.deletedJobs.add(id);
  },
);

const pauses = fc.boolean().map(isPause =>
  command(isPause ? 'pause' : 'resume', async (model, { fleet: { orchestrator } }) => {
    await (isPause ? orchestrator.queue.pause('maintenance', bob) : orchestrator.queue.resume(bob));
    model.isPaused = isPause;
  }),
);

const anyLimit = fc.constantFrom(undefined, null, null, 0, 1, 2);
const limits = fc.record({ max_concurrent: anyLimit, user_max_concurrent: anyLimit }).map(change =>
  command(`limits ${JSON.stringify(change)}`, async (model, { fleet: { orchestrator } }) => {
    await orchestrator.queue.limit(change, bob);
    if (change.max_concurrent !== undefined) model.limits.max_concurrent = change.max_concurrent;
    if (change.user_max_concurrent !== undefined)
      model.limits.user_max_concurrent = change.user_max_concurrent;
  }),
);

const cancels = anyJobIndex.map(index =>
  command(`cancel job ${index}`, async (_model, real) => {
    const id = jobAt(real, index);
    if (id === null) return;
    const hadEnded = hasEnded(real.fleet.job(id));
    const { ok } = await real.fleet.cancel(id);
    const { status } = real.fleet.job(id);
    expectThat(ok || hadEnded, `the cancel of ${id} was refused, and it is ${status}`);
    expectThat(
      hadEnded || status === 'cancelling' || status === 'cancelled',
      `${id} was cancelled, and is ${status}`,
    );
  }),
);

const releases = anyJobIndex.map(index =>
  command(`release job ${index}`, async (_model, real) => {
    const id = jobAt(real, index);
    if (id !== null) await real.fleet.release(id);
  }),
);

const drains = fc
  .record({ index: workerIndex, deadlineMs: fc.constantFrom(undefined, 0, 20_000) })
  .map(({ index, deadlineMs }) =>
    workerCommand(index, `drain with the deadline ${deadlineMs ?? 'none'}`, async (rig, model, { fleet }) => {
      const { drain } = await fleet.drain(rig, deadlineMs === undefined ? {} : { deadlineMs });
      expectThat(drain !== null, `${rig.id} was drained, but has no drain`);
      model.drainingWorkers.add(index);
    }),
  );

const undrains = workerIndex.map(index =>
  workerCommand(index, 'undrain', async (rig, model, { fleet }) => {
    await fleet.undrain(rig);
    model.drainingWorkers.delete(index);
  }),
);

const rotations = fc
  .record({ index: workerIndex, mode: fc.constantFrom('now' as const, 'after_job' as const) })
  .map(({ index, mode }) =>
    workerCommand(index, `rotation ${mode}`, async (rig, model, { fleet, tokens }) => {
      const hasJob = fleet.store.liveJobOf(rig.id) !== null;
      const issued = await fleet.orchestrator.workers.rotateToken(rig.id, mode, ada);
      if (!issued.ok) throw new Error(`the rotation of ${rig.id} was refused`);
      // With after_job, the agent keeps its token while its job runs. A second rotation then drops the pending token.
      if (mode === 'after_job' && hasJob) return;
      model.revokedTokens.push(tokens[index] ?? '');
      tokens[index] = issued.value.token;
    }),
  );

const deletions = workerIndex.map(index =>
  workerCommand(index, 'deletion', async (rig, model, { fleet, tokens }) => {
    const { status } = rig.view();
    const hasJob = fleet.store.liveJobOf(rig.id) !== null;
    const { ok } = await fleet.orchestrator.workers.remove(rig.id, ada);
    expectThat(!ok || (status === 'offline' && !hasJob), `${rig.id} was deleted while it was ${status}`);
    if (!ok) return;
    model.deletedWorkers.add(index);
    model.revokedTokens.push(tokens[index] ?? '');
  }),
);

const registrations = fc
  .record({ index: workerIndex, jobIndex: fc.option(anyJobIndex), restarts: fc.boolean() })
  .map(({ index, jobIndex, restarts }) =>
    workerCommand(index, `registration with ${nameJob(jobIndex)}`, async (rig, model, real) => {
      const currentJobId = jobIndex === null ? null : jobAt(real, jobIndex);
      await rig.tryRegister({
        ...(currentJobId !== null && { currentJobId }),
        ...(restarts && { startId: `start-${real.fleet.writes}` }),
      });
      expectThat(
        (rig.view().drain !== null) === model.drainingWorkers.has(index),
        `a registration of ${rig.id} changes its drain`,
      );
    }),
  );

const streams = workerIndex.map(index =>
  workerCommand(
    index,
    'new stream',
    async (rig, _model, { streams: openStreams }) => void openStreams.set(index, await rig.openStream()),
  ),
);

const streamBreaks = workerIndex.map(index =>
  workerCommand(index, 'end of the stream', async (_rig, _model, { streams: openStreams }) => {
    await openStreams.get(index)?.drop();
    openStreams.delete(index);
  }),
);

// Returns the job of the newest offer to the worker, even if the job has ended.
const lastOfferedTo = (rig: FleetWorker): JobId | null => rig.commandsOf('job_submit').at(-1)?.job_id ?? null;

const heartbeats = fc
  .record({ index: workerIndex, jobIndex: fc.option(anyJobIndex), isOwn: fc.boolean() })
  .map(({ index, jobIndex, isOwn }) =>
    workerCommand(
      index,
      `heartbeat with ${isOwn ? 'its own job' : nameJob(jobIndex)}`,
      async (rig, _model, real) => {
        const anyJob = jobIndex === null ? null : jobAt(real, jobIndex);
        await rig.beat(isOwn ? lastOfferedTo(rig) : anyJob);
      },
    ),
  );

// A refused report still counts as contact: the worker can become online, and the fleet can dispatch the job to it.
const isUnchangedOrDispatched = (before: string, after: string): boolean =>
  after === before || (before === 'pending' && after === 'dispatched');

const statuses = fc.constantFrom('starting', 'running', 'running', 'completed', 'failed', 'cancelled');
const reports = fc
  .record({ index: workerIndex, jobIndex: anyJobIndex, status: statuses, code: fc.constantFrom(1, -15) })
  .map(({ index, jobIndex, status, code }) =>
    workerCommand(index, `"${status}" about job ${jobIndex}`, async (rig, _model, real) => {
      const id = jobAt(real, jobIndex);
      if (id === null) return;
      const hadAttempt = real.fleet.store.attempts(id).some(({ workerId }) => workerId === rig.id);
      const before = real.fleet.job(id);
      const outcome: Outcome<unknown> = await rig.report(
        id,
        status,
        status === 'failed' ? { exit_code: code } : {},
      );
      if (hadAttempt) return;
      expectThat(!outcome.ok && outcome.refusal.code === 'not_your_job', `${rig.id} may report about ${id}`);
      expectThat(
        isUnchangedOrDispatched(before.status, real.fleet.job(id).status),
        `${rig.id} changes ${id}`,
      );
    }),
  );

// A worker starts or ends its dispatched job.
const jobRuns = fc
  .record({
    index: workerIndex,
    status: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, status }) =>
    workerCommand(index, `work, to "${status}"`, async (rig, _model, { fleet }) => {
      const liveJob = fleet.store.liveJobOf(rig.id);
      if (liveJob?.status === 'dispatched') await rig.run(liveJob.id);
      if (liveJob !== null && status !== 'running') await rig.report(liveJob.id, status);
    }),
  );

// Reports about any attempt of a job, including attempts that ended long ago.
const replays = fc
  .record({
    index: workerIndex,
    jobIndex: anyJobIndex,
    attemptIndex: fc.nat({ max: 3 }),
    status: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, jobIndex, attemptIndex, status }) =>
    workerCommand(
      index,
      `"${status}" about attempt ${attemptIndex} of job ${jobIndex}`,
      async (rig, _model, real) => {
        const id = jobAt(real, jobIndex);
        const attempts = id === null ? [] : real.fleet.store.attempts(id);
        const attempt = attempts[attemptIndex % Math.max(1, attempts.length)];
        if (id === null || attempt === undefined) return;
        const isCurrent = attempt === attempts.at(-1) && attempt.workerId === rig.id;
        const before = real.fleet.job(id).status;
        const { ok } = await rig.report(id, status, { attempt_id: attempt.id });
        if (isCurrent) return;
        expectThat(
          !ok,
          `${rig.id} may report about attempt ${attempt.n} of ${id}, which is over or of another worker`,
        );
        const after = real.fleet.job(id).status;
        expectThat(isUnchangedOrDispatched(before, after), `attempt ${attempt.n} of ${id} changes it`);
      },
    ),
  );

const disconnects = workerIndex.map(index =>
  workerCommand(index, 'disconnect', async rig => void (await rig.disconnect())),
);

// Time steps in ms. The heartbeat timeout is 40 s, so the steps cover repeated and withdrawn offers, silence, and takeover.
const timeSteps = fc
  .constantFrom(200, 5_000, 16_000, 42_000, 65_000)
  .map(ms => command(`${ms / 1000} s`, async (_model, { fleet }) => fleet.clock.advance(ms)));

const restarts = fc.boolean().map(crash =>
  command(crash ? 'crash' : 'restart', async (_model, { fleet, streams: openStreams }) => {
    openStreams.clear();
    await fleet.restart({ crash });
  }),
);

const diskChanges = fc.boolean().map(isFull =>
  command(isFull ? 'full disk' : 'space on the disk', async (model, { fleet }) => {
    model.isDiskFull = isFull;
    await fleet.setDiskFull(isFull);
  }),
);

/** Returns whether the fleet accepts the worker token. */
export const isKnown = ({ fleet }: RealFleet, token: string): boolean =>
  fleet.orchestrator.workers.byTokenHash(hashOf(token)) !== null;

// fast-check generates a command with weight 6 six times as often as a command with weight 1. Commands that advance
// jobs have higher weights.
const weightedCommands: readonly (readonly [fc.Arbitrary<Command>, number])[] = [
  [jobRuns, 6],
  [submits, 4],
  [timeSteps, 4],
  [reports, 3],
  [replays, 3],
  [streams, 2],
  [registrations, 2],
  [heartbeats, 3],
  [restarts, 1],
  [submitsWithoutWaiting, 1],
  [keyedSubmits, 2],
  [approvals, 2],
  [rejections, 1],
  [priorityChanges, 1],
  [movesToTop, 1],
  [retries, 1],
  [jobDeletions, 1],
  [pauses, 2],
  [limits, 2],
  [cancels, 1],
  [releases, 1],
  [drains, 1],
  [undrains, 1],
  [rotations, 1],
  [deletions, 1],
  [streamBreaks, 1],
  [disconnects, 1],
  [diskChanges, 1],
];

export const fleetCommands: fc.Arbitrary<Command>[] = weightedCommands.flatMap(([commands, weight]) =>
  Array.from({ length: weight }, () => commands),
);
