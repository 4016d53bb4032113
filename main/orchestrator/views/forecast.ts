import type { Explanation, WaitReason } from '../../../protocol/explain.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { Core } from '../core.ts';
import { blockersOf } from '../rules/queue-rules.ts';
import { unmetOf } from '../rules/dependencies.ts';
import { toCandidate } from '../memory/job-queue.ts';
import { isLive, type Job, leavesAfterJob, type LiveJob, type PendingJob } from '../model.ts';
import type { Read } from '../ports/index.ts';
import { predictPlacement, remainingMs, type Taker } from '../rules/predict.ts';
import { isUnsatisfiable, type Judged } from '../rules/waiting.ts';
import { isPassing } from '../rules/worker-rules.ts';

/** Inputs for the forecast of a pending job. */
interface ForecastFacts {
  readonly job: PendingJob;
  /** The evaluation of each worker, in the same order for every job. */
  readonly verdict: readonly Judged[];
  readonly reasons: readonly Pick<WaitReason, 'code' | 'detail'>[];
  /** Estimated time until the job's parents have ended; 0 without parents, null if unknown. */
  readonly parentsInMs: number | null;
  /** The evaluations of the workers for each job ahead; null when too many jobs are ahead. */
  readonly ahead: readonly { readonly judged: readonly Judged[]; readonly nodes: number }[] | null;
}

type Forecast = Pick<Explanation, 'predicted_start' | 'no_prediction'>;

interface KnownTaker extends Taker {
  readonly id: WorkerId;
  /** The worker's index in every verdict. */
  readonly index: number;
  /** The source of `freeInMs`: no job, the measured progress of the current job, or the average run time. */
  readonly source: 'idle' | 'measured' | 'usual';
}

const dayMs = 86_400_000;

/** When and where a job is predicted to start. */
export interface PredictedStart {
  readonly inMs: number;
  readonly basis: string;
  /** The workers on which the job would start; more than one for a job on several machines. */
  readonly workers: readonly WorkerId[];
  /** Average run time of the last 24 hours; null if no job ended. */
  readonly runMs: number | null;
}

/** Predicts when a job starts, in the form of the API. */
export function forecast(core: Core, read: Read, facts: ForecastFacts): Forecast {
  const { start, why } = predictStart(core, read, facts);
  if (start === null) return { predicted_start: null, no_prediction: why };
  const { inMs, basis } = start;
  const at = core.clock.iso(core.clock.wall() + inMs);
  return {
    predicted_start: { at, in_s: Math.round(inMs / 1000), guess: true, basis },
    no_prediction: null,
  };
}

export type Prediction =
  | { readonly start: PredictedStart; readonly why: null }
  | { readonly start: null; readonly why: string };

/** Predicts when and where a job starts, from the jobs ahead of it. Returns why if there is no prediction. */
export function predictStart(core: Core, read: Read, facts: ForecastFacts): Prediction {
  const { job, verdict, reasons, parentsInMs, ahead } = facts;
  const allowsPrediction = ({ code }: Pick<WaitReason, 'code'>): boolean =>
    code === 'backoff' || code === 'ahead' || (code === 'after' && parentsInMs !== null);
  const blocking = reasons.find(reason => !allowsPrediction(reason));
  if (blocking !== undefined) return unknown(blocking.detail);
  const nodes = job.spec.requirements.nodes ?? 1;
  if (isUnsatisfiable(verdict, nodes)) return unknown('No worker that ever registered could take it');
  if (ahead === null) return unknown('Too many jobs are ahead of it');
  const runMs = read.jobTimes(core.clock.wall() - dayMs).averageRunMs;
  const backoffMs = Math.max((core.deadlines.backoff.get(job.id) ?? 0) - core.clock.mono(), 0);
  // Whether the backoff blocks the job on all workers, and not only on the worker that lost it. Times are relative to now.
  const isHeldBack = blockersOf(toCandidate(job), backoffMs, 0).length > 0;
  const takers = verdict
    .flatMap(({ candidate }, index) => takerOf(core, read, candidate, index, runMs) ?? [])
    .map(taker => {
      const isBarred = !isHeldBack && verdict[taker.index]?.candidate.id === job.attempt?.workerId;
      return isBarred ? { ...taker, freeInMs: Math.max(taker.freeInMs, backoffMs) } : taker;
    });
  const fitsWith =
    (judged: readonly Judged[]) =>
    ({ index }: KnownTaker): boolean =>
      judged[index]?.mismatches.length === 0;
  const fits = fitsWith(verdict);
  const rivals = ahead
    .map(other => ({ fits: fitsWith(other.judged), count: countFor(other.judged, other.nodes) }))
    .filter(other => takers.some(other.fits));
  const thisJob = { fits, count: countFor(verdict, nodes) };
  const placement = predictPlacement({ workers: takers, job: thisJob, ahead: rivals, runMs });
  if (placement === null) return unknown(whyUnknown(verdict));
  const { inMs: freeMs, workers } = placement;
  const inMs = Math.max(freeMs, isHeldBack ? backoffMs : 0, parentsInMs ?? 0);
  const basis = basisOf(takers.filter(fits), rivals.length, freeMs, unmetOf(job.dependencies));
  return { start: { inMs, basis, workers: workers.map(({ id }) => id), runMs }, why: null };
}

/** Returns the number of workers that the job needs: one if a worker has all machines. */
const countFor = (judged: readonly Judged[], nodes: number): number =>
  judged.some(({ candidate, mismatches }) => mismatches.length === 0 && candidate.offering.nodes === nodes)
    ? 1
    : nodes;

const unknown = (why: string): Prediction => ({ start: null, why });

function takerOf(
  core: Core,
  read: Read,
  { id, ineligibilityReasons }: Judged['candidate'],
  index: number,
  runMs: number | null,
): KnownTaker | null {
  const worker = read.worker(id);
  // It is unknown when an offline or draining worker takes jobs again.
  if (worker === null || !ineligibilityReasons.every(isPassing)) return null;
  const takesOne = leavesAfterJob(worker);
  const busy = ineligibilityReasons.find(({ code }) => code === 'busy');
  if (busy?.code !== 'busy') return { id, index, freeInMs: 0, takesOne, source: 'idle' };
  const left = takesOne ? null : timeLeft(core, read, busy.jobId, runMs);
  return left && { id, index, takesOne, ...left };
}

/** Returns the ms until `nodes` of the workers are free, if no other job takes them; null if unknown. */
export function nextFreeMs(core: Core, read: Read, takers: readonly Judged[], nodes: number): number | null {
  const runMs = read.jobTimes(core.clock.wall() - dayMs).averageRunMs;
  const free = takers.flatMap(
    ({ candidate }, index) => takerOf(core, read, candidate, index, runMs)?.freeInMs ?? [],
  );
  return free.toSorted((a, b) => a - b)[nodes - 1] ?? null;
}

function timeLeft(
  core: Core,
  read: Read,
  jobId: PendingJob['id'],
  runMs: number | null,
): Pick<KnownTaker, 'freeInMs' | 'source'> | null {
  const job = read.job(jobId);
  if (job === null || !isLive(job)) return null;
  if (job.status === 'cancelling') return { freeInMs: core.times.stopGraceMs, source: 'measured' };
  const measured = measuredLeft(core, job);
  if (measured !== null) return { freeInMs: measured, source: 'measured' };
  const elapsedMs = elapsedOf(core, job) ?? 0;
  return runMs === null ? null : { freeInMs: Math.max(0, runMs - elapsedMs), source: 'usual' };
}

/** Estimates the ms until a running job ends; 0 for a completed job, null for any other job or if unknown. */
export function endInMs(core: Core, read: Read, job: Job): number | null {
  if (job.status === 'completed') return 0;
  if (!isLive(job)) return null;
  const runMs = read.jobTimes(core.clock.wall() - dayMs).averageRunMs;
  return timeLeft(core, read, job.id, runMs)?.freeInMs ?? null;
}

/** Returns the remaining ms of a running job according to its progress; null if unknown. */
export const measuredLeft = (core: Core, job: LiveJob): number | null =>
  job.status === 'running' ? remainingMs(job.progress, elapsedOf(core, job)) : null;

function elapsedOf(core: Core, { id }: LiveJob): number | null {
  const start = core.deadlines.attemptStart.get(id);
  return start === undefined ? null : core.clock.mono() - start;
}

function whyUnknown(verdict: readonly Judged[]): string {
  const matching = verdict.filter(({ mismatches }) => mismatches.length === 0);
  return matching.some(({ candidate }) => candidate.ineligibilityReasons.every(isPassing))
    ? 'It is unknown how long the jobs ahead of it will run'
    : 'Every worker that fits is unavailable, and it is unknown for how long';
}

function basisOf(takers: readonly KnownTaker[], ahead: number, freeMs: number, parents: number): string {
  const ends = parents === 0 ? [] : [`estimated end of ${counted(parents, 'job')} that it waits for`];
  if (ahead === 0 && freeMs === 0) return [...ends, 'an idle worker fits'].join('; ');
  const measured = takers.filter(({ source }) => source === 'measured').length;
  const usual = ahead > 0 || takers.some(({ source }) => source === 'usual');
  return [
    ...ends,
    counted(ahead, 'job', 'ahead'),
    ...(measured > 0 ? [`speed of ${counted(measured, 'running job')}`] : []),
    ...(usual ? ['average run of the last 24 hours'] : []),
  ].join('; ');
}

const counted = (count: number, noun: string, rest = ''): string =>
  `${count} ${noun}${count === 1 ? '' : 's'} ${rest}`.trimEnd();
