import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { createUserLimits, joinQueue, leaveQueue, type UserLimits } from './user-queues.ts';
import { createPairs, type Pairs, bySpare, byTurn, type Idle, type Shape, type Waiting } from './shapes.ts';
import type { IdleWorker, WaitingJob } from '../../ports/jobs.ts';
import type { Matcher } from '../../rules/matching.ts';

export interface Placement {
  readonly jobId: JobId;
  readonly workerId: WorkerId;
}

export interface TeamLoad {
  readonly running: number;
  readonly isAtLimit: boolean;
}

/**
 * Pending jobs and idle workers, indexed so that the next placement is found without a full scan. Jobs with the same
 * requirements form a shape; idle workers with the same offering form a class.
 */
export interface PlacementIndex {
  /** Adds the job or replaces it. */
  addJob(job: WaitingJob): void;
  removeJob(id: JobId): void;
  /** Adds the worker or replaces it. */
  addWorker(worker: IdleWorker): void;
  removeWorker(id: WorkerId): void;
  /** While a user is at the limit, all their jobs are skipped, including future ones. */
  setUserAtLimit(user: string, isAtLimit: boolean): void;
  /** Sets how many jobs of a team run, and whether the team is at its limit. */
  setTeam(team: string, load: TeamLoad): void;
  /** At equal priority, the team with the fewest running jobs goes first. Jobs without a team keep their position. */
  setFairShare(isFair: boolean): void;
  /**
   * The first job in the queue that an idle worker fits, with the worker that has least to spare: big machines stay
   * free for jobs that need them. The local machine comes after all others, and the worker to avoid comes last. Among
   * equals, the worker with most of the job's datasets is chosen. Null when there is none.
   */
  next(): Placement | null;
  /**
   * The worker that would get this job, which is not in the queue, if it were queued now. Null if no worker is
   * available for it or another job goes first. Exact only when all other placeable jobs have been placed.
   */
  wouldPlace(job: WaitingJob): WorkerId | null;
  /** Jobs in the queue, without those of users and teams at their limit. At most `limit` of each shape; in the order of the queue. */
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
  const known = heads.get(team);
  if (known === undefined || byTurn(head, known) < 0) heads.set(team, head);
}

/** Among the teams whose first job has the level of `first`, the one with the fewest running jobs goes first. */
const fairest = (
  heads: ReadonlyMap<string, Waiting>,
  first: Waiting | undefined,
  runningOf: (team: string) => number,
): Waiting | undefined =>
  [...heads]
    .filter(([, head]) => head.level === first?.level)
    .toSorted(([teamA, a], [teamB, b]) => runningOf(teamA) - runningOf(teamB) || byTurn(a, b))[0]?.[1];

function firstFor({ open }: Shape, avoided: Idle | undefined): Idle | undefined {
  const best = open.first();
  // The best class contains only the worker to avoid. Take a worker of the next class; if there is none, take that one.
  return best?.group.idle.first(avoided) ?? open.first(best)?.group.idle.first() ?? best?.group.idle.first();
}

/** Among `first` and the workers with equally much to spare, the one with most of the job's datasets. */
function withMostData(
  shape: Shape,
  first: Idle,
  avoided: Idle | undefined,
  counts: ReadonlyMap<Idle, number>,
): Idle {
  const countOf = (worker: Idle): number => counts.get(worker) ?? 0;
  return [...counts.keys()]
    .filter(worker => worker !== avoided && worker.group.fits.has(shape))
    .filter(({ group }) => bySpare(group, first.group) === 0)
    .reduce((best, worker) => (countOf(worker) > countOf(best) ? worker : best), first);
}

function dropJob(pairs: Pairs, job: Waiting | undefined): void {
  if (job === undefined) return;
  leaveQueue(job);
  pairs.leaveShape(job.line.shape);
}

/** Finds the job that goes first, and keeps what decides it besides the queue: the load of the teams. */
function createFront(pairs: Pairs, limits: UserLimits) {
  const teams = new Map<string, TeamLoad>();
  let isFair = false;
  const isTeamAtLimit = (team: string | null): boolean =>
    team !== null && teams.get(team)?.isAtLimit === true;
  const runningOf = (team: string): number => teams.get(team)?.running ?? 0;

  return {
    isTeamAtLimit,
    setTeam: (team: string, load: TeamLoad): void => void teams.set(team, load),
    setFairShare(fair: boolean): void {
      isFair = fair;
    },
    /** The first job that an idle worker fits. */
    first(): Waiting | undefined {
      let found: Waiting | undefined;
      const ofTeams = new Map<string, Waiting>();
      for (const shape of pairs.shapes()) {
        if (shape.open.size === 0 || isTeamAtLimit(shape.team)) continue;
        const head = limits.firstFree(shape);
        if (head === undefined) continue;
        if (found === undefined || byTurn(head, found) < 0) found = head;
        if (shape.team !== null) keepFirst(ofTeams, shape.team, head);
      }
      const isShared = isFair && found !== undefined && found.line.shape.team !== null;
      return isShared ? fairest(ofTeams, found, runningOf) : found;
    },
  };
}

export function createPlacementIndex(): PlacementIndex {
  const pairs = createPairs();
  const jobs = new Map<string, Waiting>();
  const workers = new Map<string, Idle>();
  const limits = createUserLimits();
  const front = createFront(pairs, limits);
  const holders = createDataHolders();

  const dropWorker = (worker: Idle | undefined): void => {
    if (worker === undefined) return;
    worker.group.idle.drop(worker);
    holders.drop(worker);
    pairs.leaveClass(worker.group);
  };

  const bestFor = (shape: Shape, { avoid, data }: Pick<Waiting, 'avoid' | 'data'>): WorkerId | undefined => {
    const avoided = avoid === null ? undefined : workers.get(avoid);
    const first = firstFor(shape, avoided);
    if (first === undefined || first === avoided || data.length === 0) return first?.id;
    return withMostData(shape, first, avoided, holders.countsOf(data)).id;
  };

  return {
    addJob(job) {
      // The old entry leaves last, so that a shape or class that both share does not expire in between.
      const before = jobs.get(job.id);
      jobs.set(job.id, joinQueue(pairs.shapeFor(job.requirements, job.team), job));
      dropJob(pairs, before);
    },
    removeJob(id) {
      dropJob(pairs, jobs.get(id));
      jobs.delete(id);
    },
    addWorker({ id, offering, datasets, order }) {
      const group = pairs.classFor(offering);
      const before = workers.get(id);
      const worker = { id, datasets, order, group, isLive: true };
      group.idle.add(worker);
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
    next() {
      const job = front.first();
      const workerId = job && bestFor(job.line.shape, job);
      return job && workerId !== undefined ? { jobId: job.id, workerId } : null;
    },
    wouldPlace(job) {
      const ahead = front.first();
      if (
        limits.isReached(job.user) ||
        front.isTeamAtLimit(job.team) ||
        (ahead !== undefined && byTurn(ahead, job) < 0)
      )
        return null;
      const shape = pairs.shapeFor(job.requirements, job.team);
      const workerId = bestFor(shape, { avoid: job.avoid, data: job.requirements.data ?? [] });
      pairs.leaveShape(shape);
      return workerId ?? null;
    },
    waiting(limit) {
      const counts = new Map<Shape, number>();
      return [...jobs.values()].toSorted(byTurn).flatMap(({ id, line: { shape, user } }) => {
        const count = counts.get(shape) ?? 0;
        if (count >= limit || limits.isReached(user) || front.isTeamAtLimit(shape.team)) return [];
        counts.set(shape, count + 1);
        return [{ id, user, team: shape.team, shape: shape.key, matcher: shape.matcher }];
      });
    },
  };
}

/** Index of the idle workers that already have a dataset on their rig. */
interface DataHolders {
  add(worker: Idle): void;
  drop(worker: Idle): void;
  /** How many of these versions each worker has. Omits workers with none. */
  countsOf(versions: readonly string[]): ReadonlyMap<Idle, number>;
}

function createDataHolders(): DataHolders {
  const holders = new Map<string, Set<Idle>>();
  return {
    add(worker) {
      for (const version of worker.datasets) {
        const known = holders.get(version) ?? new Set();
        holders.set(version, known.add(worker));
      }
    },
    drop(worker) {
      for (const version of worker.datasets) {
        const known = holders.get(version);
        known?.delete(worker);
        if (known?.size === 0) holders.delete(version);
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
