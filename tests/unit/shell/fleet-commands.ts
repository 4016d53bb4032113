/** What people and workers can ask of a fleet, legal or not, as commands of fast-check. */
import fc from 'fast-check';
import type { JobId } from '../../../protocol/ids.ts';
import { finalStatuses } from '../../../protocol/job.ts';
import type { Outcome } from '../../../protocol/problem.ts';
import { ada, type Fleet, hashOf } from '../../support/fleet.ts';
import type { FleetStream, FleetWorker } from '../../support/fleet-worker.ts';

/** What is known of the fleet without asking it. */
export interface FleetModel {
  jobs: number;
  readonly draining: Set<number>;
  readonly deleted: Set<number>;
  /** Tokens that nobody may come in with. */
  readonly deadTokens: string[];
  isDiskFull: boolean;
}

export interface RealFleet {
  readonly fleet: Fleet;
  readonly workers: readonly FleetWorker[];
  readonly tokens: string[];
  readonly jobs: JobId[];
  readonly streams: Map<number, FleetStream>;
  /** Called after every command. */
  readonly look: (model: FleetModel) => void;
}

type Command = fc.AsyncCommand<FleetModel, RealFleet>;
type Run = (model: FleetModel, real: RealFleet) => Promise<void>;

/** `run` throws what it does not expect; a disk that is full is always a reason. */
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
      real.look(model);
    },
    toString: () => name,
  };
}

const worker = fc.nat({ max: 2 });
const job = fc.nat({ max: 7 });
/** The job that is meant; null when there is none yet. */
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
  })
  .map(wish =>
    command(`submit ${JSON.stringify(wish)}`, async (model, real) => {
      real.jobs.push((await real.fleet.submit(wish)).jobId);
      model.jobs += 1;
    }),
  );

const isEnded = ({ fleet }: RealFleet, id: JobId): boolean =>
  finalStatuses.some(status => status === fleet.job(id).status);

const cancels = job.map(index =>
  command(`cancel job ${index}`, async (_model, real) => {
    const id = jobAt(real, index);
    if (id === null) return;
    const wasEnded = isEnded(real, id);
    const { ok } = await real.fleet.cancel(id);
    const { status } = real.fleet.job(id);
    expectThat(ok || wasEnded, `the cancel of ${id} was refused, and it is ${status}`);
    expectThat(
      wasEnded || status === 'cancelling' || status === 'cancelled',
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
      const holds = fleet.store.liveJobOf(rig.id) !== null;
      const issued = await fleet.orchestrator.rotateToken(rig.id, mode, ada);
      if (!issued.ok) throw new Error(`the rotation of ${rig.id} was refused`);
      if (mode === 'now' || !holds) model.deadTokens.push(tokens[index] ?? '');
      // With a job to wait for it dies later, if at all: whoever rotates again meanwhile keeps the one that the agent has.
      if (mode === 'now' || !holds) tokens[index] = issued.value.token;
    }),
  );

const deletions = worker.map(index =>
  byWorker(index, 'deletion', async (rig, model, { fleet, tokens }) => {
    const { status } = rig.view();
    const isHeld = fleet.store.liveJobOf(rig.id) !== null;
    const { ok } = await fleet.orchestrator.deleteWorker(rig.id, ada);
    expectThat(!ok || (status === 'offline' && !isHeld), `${rig.id} was deleted while it was ${status}`);
    if (!ok) return;
    model.deleted.add(index);
    model.deadTokens.push(tokens[index] ?? '');
  }),
);

const registrations = fc
  .record({ index: worker, names: fc.option(job), restarts: fc.boolean() })
  .map(({ index, names, restarts }) =>
    byWorker(
      index,
      `registration with ${names === null ? 'nothing' : `job ${names}`}`,
      async (rig, model, real) => {
        const currentJobId = names === null ? null : jobAt(real, names);
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

/** What it was given last, whatever has become of that. */
const lastOf = (rig: FleetWorker): JobId | null => rig.commandsOf('job_submit').at(-1)?.job_id ?? null;

const beats = fc
  .record({ index: worker, names: fc.option(job), isOwn: fc.boolean() })
  .map(({ index, names, isOwn }) =>
    byWorker(
      index,
      `beat with ${isOwn ? 'its own job' : names === null ? 'nothing' : `job ${names}`}`,
      async (rig, _model, real) => {
        const other = names === null ? null : jobAt(real, names);
        await rig.beat(isOwn ? lastOf(rig) : other);
      },
    ),
  );

const words = fc.constantFrom('starting', 'running', 'running', 'completed', 'failed', 'cancelled');
const reports = fc
  .record({ index: worker, names: job, word: words, code: fc.constantFrom(1, -15) })
  .map(({ index, names, word, code }) =>
    byWorker(index, `"${word}" about job ${names}`, async (rig, _model, real) => {
      const id = jobAt(real, names);
      if (id === null) return;
      const had = real.fleet.store.attempts(id).some(({ workerId }) => workerId === rig.id);
      const before = real.fleet.job(id);
      const answer: Outcome<unknown> = await rig.report(
        id,
        word,
        word === 'failed' ? { exit_code: code } : {},
      );
      if (had) return;
      expectThat(!answer.ok && answer.refusal.code === 'not_your_job', `${rig.id} may speak of ${id}`);
      expectThat(real.fleet.job(id).status === before.status, `${rig.id} changes ${id}`);
    }),
  );

/** A worker that does as it is told. */
const works = fc
  .record({
    index: worker,
    word: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, word }) =>
    byWorker(index, `work, to "${word}"`, async (rig, _model, { fleet }) => {
      const held = fleet.store.liveJobOf(rig.id);
      if (held?.status === 'dispatched') await rig.run(held.id);
      if (held !== null && word !== 'running') await rig.report(held.id, word);
    }),
  );

/** An end that comes again, of an attempt that may be over long since. */
const replays = fc
  .record({
    index: worker,
    names: job,
    which: fc.nat({ max: 3 }),
    word: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const),
  })
  .map(({ index, names, which, word }) =>
    byWorker(index, `"${word}" about attempt ${which} of job ${names}`, async (rig, _model, real) => {
      const id = jobAt(real, names);
      const attempts = id === null ? [] : real.fleet.store.attempts(id);
      const attempt = attempts[which % Math.max(1, attempts.length)];
      if (id === null || attempt === undefined) return;
      const isCurrent = attempt === attempts.at(-1) && attempt.workerId === rig.id;
      const before = real.fleet.job(id).status;
      const { ok } = await rig.report(id, word, { attempt_id: attempt.id });
      if (isCurrent) return;
      expectThat(!ok, `${rig.id} may speak of attempt ${attempt.n} of ${id}, which is not its own, or over`);
      expectThat(real.fleet.job(id).status === before, `attempt ${attempt.n} of ${id} changes it`);
    }),
  );

const goodbyes = worker.map(index => byWorker(index, 'goodbye', async rig => void (await rig.disconnect())));

/** An answer late, an offer given up, silence, takeover: of a T of 40 s. */
const passages = fc
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

/** Who knows such a token is nobody. */
export const isKnown = ({ fleet }: RealFleet, token: string): boolean =>
  fleet.orchestrator.workerByTokenHash(hashOf(token)) !== null;

/** The calls of a working fleet more often than the rest. */
const weighed: readonly (readonly [fc.Arbitrary<Command>, number])[] = [
  [works, 6],
  [submits, 4],
  [passages, 4],
  [reports, 3],
  [replays, 3],
  [streams, 2],
  [registrations, 2],
  [beats, 3],
  [restarts, 1],
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

export const fleetCommands: fc.Arbitrary<Command>[] = weighed.flatMap(([kind, times]) =>
  Array.from({ length: times }, () => kind),
);
