import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { createUserLimits, joinQueue, leaveQueue, type UserLimits } from './user-queues.ts';
import { type CanGather, groupOf, idleFor, keptFor } from './groups.ts';
import {
  createMatchIndex,
  type MatchIndex,
  bySpare,
  byTurn,
  type Idle,
  type Shape,
  type Waiting,
} from './shapes.ts';
import type { IdleWorker, WaitingJob } from '../../ports/jobs.ts';
import type { Matcher } from '../../rules/matching.ts';

/** A job, and the workers that get it. */
export interface Placement {
  readonly jobId: JobId;
  readonly workerId: WorkerId;
  /** The other workers of a job on several workers; empty for any other job. */
  readonly others: readonly WorkerId[];
}

export interface TeamLoad {
  readonly running: number;
  readonly isAtLimit: boolean;
}

/**
 * An index of pending jobs and idle workers, which finds the next placement without a full scan. Jobs of a team with the
 * same requirements form a shape. Idle workers with the same offering form a class.
 */
export interface PlacementIndex {
  /** Adds or replaces a job. */
  addJob(job: WaitingJob): void;
  removeJob(id: JobId): void;
  /** Adds or replaces an idle worker. */
  addWorker(worker: IdleWorker): void;
  removeWorker(id: WorkerId): void;
  /** While a user is at the limit, all their jobs are skipped, including future ones. */
  setUserAtLimit(user: string, isAtLimit: boolean): void;
  /** Sets how many jobs of a team run, and whether the team is at its limit. */
  setTeam(team: string, load: TeamLoad): void;
  /** With fair share, at equal priority the team with the fewest running jobs goes first. Jobs without a team are not moved. */
  setFairShare(isFair: boolean): void;
  /**
   * Returns the first job that idle workers fit, and its workers; null when there is none. Chooses the smallest fitting
   * machine, so that big machines stay free for jobs that need them. The local machine comes after all remote ones, and the
   * worker of the job's last attempt comes last. Among equal workers, chooses the one with most of the job's datasets. A job
   * may need several workers while too few are idle. Then `canGather` decides whether later jobs must leave them idle.
   */
  next(canGather?: CanGather): Placement | null;
  /**
   * Returns the worker that would get a new job if it were queued now. For a job on several workers, returns the first of
   * them. Null if no worker fits or another job goes first. The result is exact only if `next` returns null.
   */
  wouldPlace(job: WaitingJob, canGather?: CanGather): WorkerId | null;
  /** Returns jobs in dispatch order, at most `limit` of each shape. Omits jobs of users and teams at their limit. */
  waiting(limit: number): readonly QueuedJob[];
}

export interface QueuedJob {
  readonly id: JobId;
  readonly user: string;
  readonly team: string | null;
  /** Jobs with the same key fit the same workers. */
  readonly shape: string;
  readonly matcher: Matcher;
}

function keepFirst(heads: Map<string, Waiting>, team: string, head: Waiting): void {
  const earlier = heads.get(team);
  if (earlier === undefined || byTurn(head, earlier) < 0) heads.set(team, head);
}

/**
 * Returns the job that goes first with fair share: that of the team with the fewest running jobs. `heads`: the first job of
 * each team. Jobs at other levels than `first` do not count.
 */
function fairest(
  heads: ReadonlyMap<string, Waiting>,
  first: Waiting | undefined,
  runningOf: (team: string) => number,
): Waiting | undefined {
  const [best] = [...heads]
    .filter(([, head]) => head.level === first?.level)
    .toSorted(([teamA, a], [teamB, b]) => runningOf(teamA) - runningOf(teamB) || byTurn(a, b));
  return best?.[1];
}

/** Returns the best idle worker for a shape, if possible another one than `avoided`. */
function firstFor({ open }: Shape, avoided: Idle | undefined): Idle | undefined {
  const best = open.first();
  const idle = best?.workerClass.idle.first(avoided);
  if (idle !== undefined) return idle;
  // The best class contains only the worker to avoid. Take a worker of the next class, or else the worker to avoid.
  const inNextClass = open.first(best)?.workerClass.idle.first();
  return inNextClass ?? best?.workerClass.idle.first();
}

/** Returns the worker with most of the job's datasets, among the fitting workers that are equal to `first` in `bySpare`. */
function withMostData(
  shape: Shape,
  first: Idle,
  avoided: Idle | undefined,
  counts: ReadonlyMap<Idle, number>,
): Idle {
  const countOf = (worker: Idle): number => counts.get(worker) ?? 0;
  return [...counts.keys()]
    .filter(worker => worker !== avoided && worker.workerClass.fits.has(shape))
    .filter(({ workerClass }) => bySpare(workerClass, first.workerClass) === 0)
    .reduce((best, worker) => (countOf(worker) > countOf(best) ? worker : best), first);
}

/** Whether the job must not take workers that `keeper` keeps, because the job comes after `keeper`. */
const isKeptFrom = (job: Pick<Waiting, 'level' | 'order'>, keeper: Waiting | null): boolean =>
  keeper !== null && byTurn(job, keeper) > 0;

function dropJob(matches: MatchIndex, job: Waiting | undefined): void {
  if (job === undefined) return;
  leaveQueue(job);
  matches.markShapeIfUnused(job.queue.shape);
}

/** The first job that can be placed, and the job that keeps workers for itself. */
interface Front {
  readonly job: Waiting | undefined;
  /** A job on several workers that waits for more idle workers; null for none. */
  readonly keeper: Waiting | null;
}

/** Finds the job that goes first. Stores the load of the teams, because fair share depends on it. */
function createFront(
  matches: MatchIndex,
  limits: UserLimits,
  workersFor: (head: Waiting, keeper: Waiting | null) => readonly Idle[],
) {
  const teams = new Map<string, TeamLoad>();
  let isFair = false;
  const isTeamAtLimit = (team: string | null): boolean =>
    team !== null && teams.get(team)?.isAtLimit === true;
  const runningOf = (team: string): number => teams.get(team)?.running ?? 0;

  const headOf = (shape: Shape): Waiting | undefined =>
    shape.filled === 0 || isTeamAtLimit(shape.team) ? undefined : limits.firstFree(shape);

  /** Whether idle workers fit the job. For a job on one worker without a keeper, only reads the ranking, which is fast. */
  const isPlaceable = (shape: Shape, head: Waiting, keeper: Waiting | null): boolean =>
    shape.nodes === 1 && !isKeptFrom(head, keeper)
      ? shape.open.size > 0
      : workersFor(head, keeper).length > 0;

  /** Returns the first job of each shape that needs several workers. */
  const groupHeads = (): readonly Waiting[] => {
    const heads: Waiting[] = [];
    for (const shape of matches.shapes()) {
      const head = shape.nodes > 1 ? headOf(shape) : undefined;
      if (head !== undefined) heads.push(head);
    }
    return heads;
  };

  return {
    isTeamAtLimit,
    setTeam(team: string, load: TeamLoad): void {
      teams.set(team, load);
    },
    setFairShare(fair: boolean): void {
      isFair = fair;
    },
    /** Returns the first job that idle workers fit. */
    first(canGather: CanGather): Front {
      let first: Waiting | undefined;
      const ofTeams = new Map<string, Waiting>();
      const keeper = keptFor(groupHeads(), head => workersFor(head, null), canGather);
      for (const shape of matches.shapes()) {
        if (shape.open.size === 0) continue;
        const head = headOf(shape);
        if (head === undefined || !isPlaceable(shape, head, keeper)) continue;
        if (first === undefined || byTurn(head, first) < 0) first = head;
        if (shape.team !== null) keepFirst(ofTeams, shape.team, head);
      }
      const isShared = isFair && first !== undefined && first.queue.shape.team !== null;
      return { job: isShared ? fairest(ofTeams, first, runningOf) : first, keeper };
    },
  };
}

/** Returns a function that chooses the workers for a job. The chosen list is empty when there are too few. */
function createChoice(workers: ReadonlyMap<string, Idle>, holders: DataHolders) {
  return (
    shape: Shape,
    job: Pick<Waiting, 'avoid' | 'data' | 'level' | 'order'>,
    keeper: Waiting | null,
  ): readonly Idle[] => {
    const { avoid, data } = job;
    const avoided = avoid === null ? undefined : workers.get(avoid);
    const keptShape = keeper !== null && isKeptFrom(job, keeper) ? keeper.queue.shape : null;
    if (shape.nodes > 1 || keptShape !== null) {
      const fitting = idleFor(workers.values(), shape, { avoided, keptShape });
      return shape.nodes > 1 ? groupOf(shape, fitting) : fitting.slice(0, 1);
    }
    const first = firstFor(shape, avoided);
    if (first === undefined) return [];
    if (first === avoided || data.length === 0) return [first];
    return [withMostData(shape, first, avoided, holders.countsOf(data))];
  };
}

const never: CanGather = () => false;

export function createPlacementIndex(): PlacementIndex {
  const matches = createMatchIndex();
  const jobs = new Map<string, Waiting>();
  const workers = new Map<string, Idle>();
  const limits = createUserLimits();
  const holders = createDataHolders();
  const workersFor = createChoice(workers, holders);
  const front = createFront(matches, limits, (head, keeper) => workersFor(head.queue.shape, head, keeper));

  const dropWorker = (worker: Idle | undefined): void => {
    if (worker === undefined) return;
    worker.workerClass.idle.drop(worker);
    holders.drop(worker);
    matches.markClassIfUnused(worker.workerClass);
  };

  return {
    addJob(job) {
      // Remove the old entry last, so that its shape does not expire if the new entry has the same shape.
      const before = jobs.get(job.id);
      jobs.set(job.id, joinQueue(matches.shapeFor(job.requirements, job.team), job));
      dropJob(matches, before);
    },
    removeJob(id) {
      dropJob(matches, jobs.get(id));
      jobs.delete(id);
    },
    addWorker({ id, offering, datasets, order }) {
      const workerClass = matches.classFor(offering);
      const before = workers.get(id);
      const worker = { id, datasets, order, workerClass, isLive: true };
      workerClass.idle.add(worker);
      holders.add(worker);
      workers.set(id, worker);
      dropWorker(before);
    },
    removeWorker(id) {
      dropWorker(workers.get(id));
      workers.delete(id);
    },
    setUserAtLimit: limits.set,
    setTeam: front.setTeam,
    setFairShare: front.setFairShare,
    next(canGather = never) {
      const { job, keeper } = front.first(canGather);
      const [first, ...others] = job === undefined ? [] : workersFor(job.queue.shape, job, keeper);
      if (job === undefined || first === undefined) return null;
      return { jobId: job.id, workerId: first.id, others: others.map(({ id }) => id) };
    },
    wouldPlace(job, canGather = never) {
      const { job: ahead, keeper } = front.first(canGather);
      if (
        limits.isReached(job.user) ||
        front.isTeamAtLimit(job.team) ||
        (ahead !== undefined && byTurn(ahead, job) < 0)
      )
        return null;
      const shape = matches.shapeFor(job.requirements, job.team);
      const [first] = workersFor(shape, { ...job, data: job.requirements.data ?? [] }, keeper);
      matches.markShapeIfUnused(shape);
      return first?.id ?? null;
    },
    waiting(limit) {
      const counts = new Map<Shape, number>();
      return [...jobs.values()].toSorted(byTurn).flatMap(({ id, queue: { shape, user } }) => {
        const count = counts.get(shape) ?? 0;
        if (count >= limit || limits.isReached(user) || front.isTeamAtLimit(shape.team)) return [];
        counts.set(shape, count + 1);
        return [{ id, user, team: shape.team, shape: shape.key, matcher: shape.matcher }];
      });
    },
  };
}

/** An index of idle workers by the dataset versions on their rigs. */
interface DataHolders {
  add(worker: Idle): void;
  drop(worker: Idle): void;
  /** Returns how many of these versions each worker has. Omits workers without any of them. */
  countsOf(versions: readonly string[]): ReadonlyMap<Idle, number>;
}

function createDataHolders(): DataHolders {
  const holders = new Map<string, Set<Idle>>();
  return {
    add(worker) {
      for (const version of worker.datasets) {
        const holdersOfVersion = holders.get(version) ?? new Set();
        holders.set(version, holdersOfVersion.add(worker));
      }
    },
    drop(worker) {
      for (const version of worker.datasets) {
        const holdersOfVersion = holders.get(version);
        holdersOfVersion?.delete(worker);
        if (holdersOfVersion?.size === 0) holders.delete(version);
      }
    },
    countsOf(versions) {
      const counts = new Map<Idle, number>();
      for (const version of versions)
        for (const worker of holders.get(version) ?? []) counts.set(worker, (counts.get(worker) ?? 0) + 1);
      return counts;
    },
  };
}
