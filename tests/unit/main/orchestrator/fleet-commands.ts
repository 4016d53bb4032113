// Commands of fast-check: every call that users and workers can send to a fleet, valid or not.
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
  // Idempotency keys with the first response to each.
  readonly keyed: Map<string, { readonly job: JobId; readonly fingerprint: string }>;
  readonly deletedJobs: Set<JobId>;
  readonly draining: Set<number>;
  readonly deleted: Set<number>;
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

// `run` throws on an unexpected result. A full disk may fail any command.
function command(name: string, run: Run, check: (model: FleetModel) => boolean = () => true): Command {
  return {
    check,
    async run(model, real) {
      try {
        await run(model, real);
      } catch (cause) {
        if (!model.isDiskFull || !(cause instanceof Error) || cause.name !== 'StorageError') throw cause;
      }
      await real.fleet.clock.settle();
      real.checkInvariants(model);
    },
    toString: () => name,
  };
}

const worker = fc.nat({ max: 2 });
const job = fc.nat({ max: 7 });
// Picks a job; null when none exists yet.
const jobAt = ({ jobs }: RealFleet, index: number): JobId | null =>
  jobs[index % Math.max(1, jobs.length)] ?? null;
const workerAt = ({ workers }: RealFleet, index: number): FleetWorker => {
  const found = workers[index];
  if (found === undefined) throw new Error(`there is no worker ${index}`);
  return found;
};

function expectThat(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what);
}

const byWorker = (
  index: number,
  name: string,
  run: (rig: FleetWorker, model: FleetModel, real: RealFleet) => Promise<void>,
): Command =>
  command(
    `${name} of worker ${index}`,
    (model, real) => run(workerAt(real, index), model, real),
    ({ deleted }) => !deleted.has(index),
  );

const submits = fc
  .record({
    max_retries: fc.nat({ max: 3 }),
    priority: fc.constantFrom(0, 10, 40),
    timeout_s: fc.constantFrom(undefined, 60),
    // Rare, because a job that waits for approval does little else.
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

// The job is dispatched immediately or leaves no trace.
const submitsWithoutWaiting = fc.constantFrom(ada, bob).map(user =>
  command('submit without waiting', async (model, real) => {
    const { fleet } = real;
    const before = fleet.events.length;
    const waiting = fleet.store.pendingJobs().length;
    const answer = await fleet.trySubmit({ no_wait: true }, user);
    if (!answer.ok) throw new Error(answer.refusal.detail);
    if (answer.value.status === 'rejected') {
      expectThat(fleet.events.length === before, 'a rejected job has events');
      expectThat(fleet.store.pendingJobs().length === waiting, 'a rejected job waits in the queue');
      return;
    }
    expectThat(
      answer.value.status === 'running',
      `the job is ${answer.value.status}, but must start at once`,
    );
    recordJob(model, real, answer.value.jobId);
  }),
);

const keyed = fc
  .record({ key: fc.constantFrom('k1', 'k2'), fingerprint: fc.constantFrom('f1', 'f1', 'f2') })
  .map(({ key, fingerprint }) =>
    command(`submit ${fingerprint} as ${key}`, async (model, real) => {
      const known = model.keyed.get(key);
      const answer = await real.fleet.trySubmit({}, ada, { key, fingerprint });
      const code = answer.ok ? null : answer.refusal.code;
      if (known === undefined) {
        if (!answer.ok || answer.value.status === 'rejected') throw new Error(`${key} is refused: ${code}`);
        model.keyed.set(key, { job: answer.value.jobId, fingerprint });
        recordJob(model, real, answer.value.jobId);
      } else if (known.fingerprint !== fingerprint) {
        expectThat(code === 'idempotency_key_reused', `${key} with another fingerprint: ${code}`);
      } else if (model.deletedJobs.has(known.job)) {
        expectThat(code === 'job_not_found', `${key} of a deleted job: ${code}`);
      } else {
        const isSame = answer.ok && answer.value.status !== 'rejected' && answer.value.jobId === known.job;
        expectThat(isSame, `${key} returns another job the second time`);
      }
    }),
  );

// A user's command for one job. `isAllowed` decides from the job's previous state whether it is allowed.
const aboutJob = <T>(
  name: string,
  call: (id: JobId, fleet: Fleet) => Promise<Outcome<T>>,
  isAllowed: (before: JobDetail) => boolean,
  then: (id: JobId, model: FleetModel, real: RealFleet, answer: T) => void = () => {},
): fc.Arbitrary<Command> =>
  job.map(index =>
    command(`${name} job ${index}`, async (model, real) => {
      const id = jobAt(real, index);
      if (id === null) return;
      const before = real.fleet.job(id);
      const answer = await call(id, real.fleet);
      const result = answer.ok ? 'is not refused' : answer.refusal.code;
      expectThat(answer.ok === isAllowed(before), `${name} of ${id}, which is ${before.status}, ${result}`);
      if (answer.ok) then(id, model, real, answer.value);
    }),
  );

const isPending = ({ status }: JobDetail): boolean => isWaiting(status);
const isBlocked = ({ status }: JobDetail): boolean => status === 'blocked';
const hasEnded = ({ status }: JobDetail): boolean => finalStatuses.some(final => final === status);

const approvals = aboutJob(
  'approval',
  (id, { orchestrator }) => orchestrator.jobs.approve(id, bob),
  isBlocked,
);
const rejections = aboutJob(
  'rejection',
  (id, { orchestrator }) => orchestrator.jobs.reject(id, 'too dear', bob),
  isBlocked,
  (id, _model, { fleet }) =>
    expectThat(fleet.job(id).cause === 'rejected', `${id} does not say why it failed`),
);
const priorityChanges = aboutJob(
  'priority',
  (id, { orchestrator }) => orchestrator.jobs.setPriority(id, 30, bob),
  isPending,
);
const movesToTop = aboutJob(
  'move to the top',
  (id, { orchestrator }) => orchestrator.jobs.moveToTop(id, bob),
  isPending,
  (id, _model, { fleet }) => {
    const { status, position } = fleet.job(id);
    const isFirst = status !== 'pending' || position === 1;
    expectThat(isFirst, `${id} was moved to the top, and is number ${position}`);
  },
);
const retries = aboutJob(
  'retry',
  (id, { orchestrator }) => orchestrator.jobs.retry(id, bob),
  hasEnded,
  (id, model, real, retry) => {
    if (retry.status === 'rejected') throw new Error(`the retry of ${id} was rejected`);
    expectThat(real.fleet.job(retry.jobId).retry_of === id, `${retry.jobId} does not say what it retries`);
    recordJob(model, real, retry.jobId);
  },
);
const jobDeletions = aboutJob(
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
    await (isPause ? orchestrator.queue.pause('mains', bob) : orchestrator.queue.resume(bob));
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

const cancels = job.map(index =>
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

const releases = job.map(index =>
  command(`release job ${index}`, async (_model, real) => {
    const id = jobAt(real, index);
    if (id !== null) await real.fleet.release(id);
  }),
);

const drains = fc
  .record({ index: worker, deadlineMs: fc.constantFrom(undefined, 0, 20_000) })
  .map(({ index, deadlineMs }) =>
    byWorker(index, `drain within ${deadlineMs ?? 'any time'}`, async (rig, model, { fleet }) => {
      const { drain } = await fleet.drain(rig, deadlineMs === undefined ? {} : { deadlineMs });
      expectThat(drain !== null, `${rig.id} was drained, and does not drain`);
      model.draining.add(index);
    }),
  );

const undrains = worker.map(index =>
  byWorker(index, 'undrain', async (rig, model, { fleet }) => {
    await fleet.undrain(rig);
    model.draining.delete(index);
  }),
);

const rotations = fc
  .record({ index: worker, mode: fc.constantFrom('now' as const, 'after_job' as const) })
  .map(({ index, mode }) =>
    byWorker(index, `rotation ${mode}`, async (rig, model, { fleet, tokens }) => {
      const hasJob = fleet.store.liveJobOf(rig.id) !== null;
      const issued = await fleet.orchestrator.workers.rotateToken(rig.id, mode, ada);
      if (!issued.ok) throw new Error(`the rotation of ${rig.id} was refused`);
      // The agent keeps its token while its job runs. A second rotation then drops the pending token.
      if (mode === 'after_job' && hasJob) return;
      model.revokedTokens.push(tokens[index] ?? '');
      tokens[index] = issued.value.token;
    }),
  );

const deletions = worker.map(index =>
  byWorker(index, 'deletion', async (rig, model, { fleet, tokens }) => {
    const { status } = rig.view();
    const isHeld = fleet.store.liveJobOf(rig.id) !== null;
    const { ok } = await fleet.orchestrator.workers.remove(rig.id, ada);
    expectThat(!ok || (status === 'offline' && !isHeld), `${rig.id} was deleted while it was ${status}`);
    if (!ok) return;
    model.deleted.add(index);
    model.revokedTokens.push(tokens[index] ?? '');
  }),
);

const registrations = fc
  .record({ index: worker, jobIndex: fc.option(job), restarts: fc.boolean() })
  .map(({ index, jobIndex, restarts }) =>
    byWorker(
      index,
      `registration with ${jobIndex === null ? 'nothing' : `job ${jobIndex}`}`,
      async (rig, model, real) => {
        const currentJobId = jobIndex === null ? null : jobAt(real, jobIndex);
        await rig.tryRegister({
          ...(currentJobId !== null && { currentJobId }),
          ...(restarts && { startId: `start-${real.fleet.writes}` }),
        });
        expectThat(
          (rig.view().drain !== null) === model.draining.has(index),
          `${rig.id} registers, and its drain changes`,
        );
      },
    ),
  );

const streams = worker.map(index =>
  byWorker(
    index,
    'new stream',
    async (rig, _model, { streams: open }) => void open.set(index, await rig.openStream()),
  ),
);

const breaks = worker.map(index =>
  byWorker(index, 'end of the stream', async (_rig, _model, { streams: open }) => {
    await open.get(index)?.drop();
    open.delete(index);
  }),
);

// The job of the newest offer, whatever became of it.
const lastOfferedTo = (rig: FleetWorker): JobId | null => rig.commandsOf('job_submit').at(-1)?.job_id ?? null;

const beats = fc
  .record({ index: worker, jobIndex: fc.option(job), isOwn: fc.boolean() })
  .map(({ index, jobIndex, isOwn }) =>
    byWorker(
      index,
      `beat with ${isOwn ? 'its own job' : jobIndex === null ? 'nothing' : `job ${jobIndex}`}`,
      async (rig, _model, real) => {
        const other = jobIndex === null ? null : jobAt(real, jobIndex);
        await rig.beat(isOwn ? lastOfferedTo(rig) : other);
      },
    ),
  );

// The call may bring its worker back, which may then get the pending job.
const isUnchangedOrDispatched = (before: string, after: string): boolean =>
  after === before || (before === 'pending' && after === 'dispatched');

const statuses = fc.constantFrom('starting', 'running', 'running', 'completed', 'failed', 'cancelled');
const reports = fc
  .record({ index: worker, jobIndex: job, status: statuses, code: fc.constantFrom(1, -15) })
  .map(({ index, jobIndex, status, code }) =>
    byWorker(index, `"${status}" about job ${jobIndex}`, async (rig, _model, real) => {
      const id = jobAt(real, jobIndex);
      if (id === null) return;
      const hadAttempt = real.fleet.store.attempts(id).some(({ workerId }) => workerId === rig.id);
      const before = real.fleet.job(id);
      const answer: Outcome<unknown> = await rig.report(
        id,
        status,
        status === 'failed' ? { exit_code: code } : {},
      );
      if (hadAttempt) return;
      expectThat(!answer.ok && answer.refusal.code === 'not_your_job', `${rig.id} may report about ${id}`);
      expectThat(
        isUnchangedOrDispatched(before.status, real.fleet.job(id).status),
        `${rig.id} changes ${id}`,
      );
    }),
  );

// A worker that follows its commands.
const works = fc
  .record({
    index: worker,
    status: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, status }) =>
    byWorker(index, `work, to "${status}"`, async (rig, _model, { fleet }) => {
      const held = fleet.store.liveJobOf(rig.id);
      if (held?.status === 'dispatched') await rig.run(held.id);
      if (held !== null && status !== 'running') await rig.report(held.id, status);
    }),
  );

// A repeated final report of an attempt that may have ended long ago.
const replays = fc
  .record({
    index: worker,
    jobIndex: job,
    which: fc.nat({ max: 3 }),
    status: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, jobIndex, which, status }) =>
    byWorker(index, `"${status}" about attempt ${which} of job ${jobIndex}`, async (rig, _model, real) => {
      const id = jobAt(real, jobIndex);
      const attempts = id === null ? [] : real.fleet.store.attempts(id);
      const attempt = attempts[which % Math.max(1, attempts.length)];
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
    }),
  );

const goodbyes = worker.map(index => byWorker(index, 'goodbye', async rig => void (await rig.disconnect())));

// Long enough for a late answer, a withdrawn offer, silence and takeover at T = 40 s.
const timeSteps = fc
  .constantFrom(200, 5_000, 16_000, 42_000, 65_000)
  .map(ms => command(`${ms / 1000} s`, async (_model, { fleet }) => fleet.clock.advance(ms)));

const restarts = fc.boolean().map(crash =>
  command(crash ? 'crash' : 'restart', async (_model, { fleet, streams: open }) => {
    open.clear();
    await fleet.restart({ crash });
  }),
);

const disks = fc.boolean().map(isFull =>
  command(isFull ? 'full disk' : 'room on the disk', async (model, { fleet }) => {
    model.isDiskFull = isFull;
    await fleet.setDiskFull(isFull);
  }),
);

export const isKnown = ({ fleet }: RealFleet, token: string): boolean =>
  fleet.orchestrator.workers.byTokenHash(hashOf(token)) !== null;

// Calls of a working fleet have a higher weight than the rest.
const weightedCommands: readonly (readonly [fc.Arbitrary<Command>, number])[] = [
  [works, 6],
  [submits, 4],
  [timeSteps, 4],
  [reports, 3],
  [replays, 3],
  [streams, 2],
  [registrations, 2],
  [beats, 3],
  [restarts, 1],
  [submitsWithoutWaiting, 1],
  [keyed, 2],
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
  [breaks, 1],
  [goodbyes, 1],
  [disks, 1],
];

export const fleetCommands: fc.Arbitrary<Command>[] = weightedCommands.flatMap(([kind, weight]) =>
  Array.from({ length: weight }, () => kind),
);
