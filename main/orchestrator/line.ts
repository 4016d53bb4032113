import type { JobId, WorkerId } from '../../protocol/ids.ts';
import {
  barredWorker,
  hindrancesOf,
  hindrancesOfAll,
  hindrancesOfTeam,
  hindrancesOfUser,
} from './hindrances.ts';
import { isLive, type Job, type MonoMs, type PendingJob, type QueueSettings } from './model.ts';
import { createAgenda } from './placement/agenda.ts';
import type { JobInLine } from './placement/candidates.ts';
import { createPlacementIndex, type Placement, type PlacementIndex } from './placement/placement-index.ts';
import { createTally } from './placement/tally.ts';
import type { Read } from './ports.ts';
import { candidacyOf, isFree, offeringIn, settingsOf, type Standing } from './standing.ts';

/**
 * Who waits and who is idle, kept up as jobs and workers change, so that dispatch looks at those alone that have. What
 * has changed is only noted; it is judged, from the stored facts, when the next placement is asked for.
 */
export interface Line {
  /** One that waits, as at the start. */
  takeWaiting(standing: Standing, job: JobInLine): void;
  /** One that is known to wait or run. */
  takeJob(standing: Standing, job: Job): void;
  noteJob(id: JobId): void;
  noteWorker(id: WorkerId): void;
  /** The settings of the queue have changed. */
  noteQueue(): void;
  /** As far as this transaction sees; null when there is none, or the queue is paused or at its limit. */
  next(standing: Standing, read: Read): Placement | null;
  /** Who would get a job at once if it joined the line now, behind those that have been placed; null for nobody. */
  takerFor(standing: Standing, read: Read, job: PendingJob): WorkerId | null;
}

/** How soon those are looked at again that will come back by themselves, and tell nobody when. */
const lookAgainMs = 1_000;

/** Counts running jobs by user and team, and holds back those at their limit. */
function createLoads(index: PlacementIndex) {
  const running = createTally<JobId>();
  const teams = createTally<JobId>();
  /** Teams that have had a job since the start: a limit of none holds those of whom nothing runs, too. */
  const known = new Set<string>();
  let settings: QueueSettings | null = null;

  /** Those of whom nothing runs are never held: a look at the others is enough when the limit becomes another one. */
  const hold = (user: string): void => {
    const count = running.of(user);
    const isAtLimit = settings !== null && hindrancesOfUser(settings, user, count).length > 0;
    index.setHeld(user, count > 0 && isAtLimit);
  };
  const holdTeam = (team: string): void => {
    const count = teams.of(team);
    const isHeld = settings !== null && hindrancesOfTeam(settings, team, count).length > 0;
    index.setTeam(team, { running: count, isHeld });
  };
  const load = (read: Read): QueueSettings => {
    settings = settingsOf(read);
    index.setFairShare(settings.fairShare);
    for (const user of running.owners()) hold(user);
    for (const team of known) holdTeam(team);
    return settings;
  };
  const noteTeam = (team: string): void => {
    known.add(team);
    holdTeam(team);
  };
  return {
    noteTeam,
    note(job: Job): void {
      running.set(job.id, isLive(job) ? job.user : null);
      hold(job.user);
      teams.set(job.id, isLive(job) ? job.team : null);
      if (job.team !== null) noteTeam(job.team);
    },
    drop(id: JobId): void {
      running.set(id, null);
      teams.set(id, null);
      for (const team of known) holdTeam(team);
    },
    /** They have changed. */
    forgetSettings(): void {
      settings = null;
    },
    /** False while the queue is paused or at its limit. */
    takesJobs(read: Read): boolean {
      settings ??= load(read);
      return hindrancesOfAll(settings, running.total).length === 0 && settings.maxRunningPerUser !== 0;
    },
  };
}

export function createLine(): Line {
  const index = createPlacementIndex();
  const loads = createLoads(index);
  const jobs = createAgenda<JobId>();
  const workers = createAgenda<WorkerId>();
  /** Jobs that only the worker that lost them could take, before it may: they wait for another one, or for the time. */
  const barred = new Set<JobId>();
  const takeWaiting = (standing: Standing, job: JobInLine): void => {
    if (job.team !== null) loads.noteTeam(job.team);
    const ready = readyAt(standing, job.id);
    if (hindrancesOf(job, ready, standing.clock.mono()).length === 0) return index.addJob(job);
    if (job.approval !== 'wanted') jobs.addAt(job.id, ready);
    index.removeJob(job.id);
  };
  const takeJob = (standing: Standing, job: Job): void => {
    barred.delete(job.id);
    loads.note(job);
    if (job.status === 'pending') takeWaiting(standing, inLine(job));
    else index.removeJob(job.id);
  };
  const judgeJob = (standing: Standing, read: Read, id: JobId): void => {
    const job = read.job(id);
    if (job !== null) return takeJob(standing, job);
    barred.delete(id);
    loads.drop(id);
    index.removeJob(id);
  };
  const judgeWorker = (standing: Standing, read: Read, id: WorkerId): void => {
    const againAt = placeWorker(standing, read, id, index);
    if (againAt !== null) workers.addAt(id, againAt);
  };
  /** False while nothing is given out. */
  const lookAround = (standing: Standing, read: Read): boolean => {
    const now = standing.clock.mono();
    const changed = [...workers.take(now)];
    for (const id of changed) judgeWorker(standing, read, id);
    if (changed.length > 0) for (const id of barred) jobs.add(id);
    for (const id of jobs.take(now)) judgeJob(standing, read, id);
    return loads.takesJobs(read);
  };
  return {
    takeWaiting,
    takeJob,
    noteJob: jobs.add,
    noteWorker: workers.add,
    noteQueue: loads.forgetSettings,
    next(standing, read) {
      while (lookAround(standing, read)) {
        const placement = index.next();
        if (placement === null || !isBarred(standing, read, placement)) return placement;
        index.removeJob(placement.jobId);
        barred.add(placement.jobId);
        jobs.addAt(placement.jobId, readyAt(standing, placement.jobId));
      }
      return null;
    },
    takerFor(standing, read, job) {
      if (job.approval === 'wanted') return null;
      while (lookAround(standing, read)) {
        const worker = index.wouldPlace(inLine(job));
        if (worker === null || isFree(standing, read, worker)) return worker;
        // Time has passed since it was judged.
        workers.add(worker);
      }
      return null;
    },
  };
}

const readyAt = ({ deadlines }: Standing, id: JobId): MonoMs => deadlines.backoff.get(id) ?? 0;

function isBarred(standing: Standing, read: Read, { jobId, workerId }: Placement): boolean {
  const job = read.job(jobId);
  if (job?.status !== 'pending') return false;
  return barredWorker(inLine(job), readyAt(standing, jobId), standing.clock.mono()) === workerId;
}

export const inLine = (job: PendingJob): JobInLine => ({
  id: job.id,
  requirements: job.spec.requirements,
  user: job.user,
  team: job.team,
  level: job.rank.level,
  order: job.order,
  avoid: job.attempt?.workerId ?? null,
  approval: job.approval,
  notBefore: job.notBefore,
  lastCause: job.attempt?.end?.cause ?? null,
  retriesUsed: job.retriesUsed,
});

/** Answers with when it has to be judged again, though nothing about it changes; null for never. */
function placeWorker(standing: Standing, read: Read, id: WorkerId, index: PlacementIndex): number | null {
  const worker = read.worker(id);
  index.removeWorker(id);
  if (worker === null) return null;
  const { status, reason, obstacles, trialAt } = candidacyOf(standing, read, worker);
  if (obstacles.length === 0) {
    index.addWorker({
      id,
      offering: offeringIn(read, worker),
      datasets: worker.agent?.datasets ?? [],
      order: worker.createdAt,
    });
    return null;
  }
  // Past its trial, it is something else that is against it, and that is told of when it changes.
  if (status === 'idle') return trialAt !== null && trialAt > standing.clock.mono() ? trialAt : null;
  if (reason === 'settling') return standing.presence.of(id)?.settledAt ?? null;
  return reason === 'silent' ? standing.clock.mono() + lookAgainMs : null;
}
