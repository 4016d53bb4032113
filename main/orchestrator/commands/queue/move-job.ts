import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import type { Actor, Job, PendingJob } from '../../model.ts';
import type { Tx } from '../../ports/index.ts';
import { isQueued } from '../../rules/dependencies.ts';
import {
  type Boundary,
  boundaryBetween,
  rankBeside,
  type Spread,
  spreadInto,
} from '../../rules/queue-moves.ts';
import { changeJob } from '../jobs/jobs.ts';

type Side = 'before' | 'after';

/** The position to which a job moves: directly before or after another pending job. */
export interface MoveTarget {
  readonly id: JobId;
  readonly side: Side;
}

/** Moves a pending job next to another one. Refuses a move between jobs with different priorities. */
export const createMoveCalls = (core: Core) => ({
  move: (id: JobId, to: MoveTarget, by: Actor): Promise<Outcome<JobView>> =>
    changeJob(core, id, (tx, job) => {
      const target = tx.job(to.id);
      if (target === null) return refuse('job_not_found', `There is no job ${to.id}`);
      if (!isInQueue(job)) return notInQueue(job);
      if (!isInQueue(target)) return notInQueue(target);
      if (job.id === target.id) return refuse('invalid_request', `Job ${id} cannot move next to itself`);
      const boundary = boundaryBetween(job.rank, target.rank);
      if (boundary !== null) return refuse('priority_boundary', describeBoundary(boundary, job, target));
      const [next] = tx.neighbours(target, to.side, 1);
      if (next?.id !== job.id) moveBeside(core, tx, job, target, to.side, by);
      return accept(true);
    }),
});

const isInQueue = (job: Job): job is PendingJob => job.status === 'pending' && isQueued(job);

function notInQueue({ id, status, approval }: Job) {
  if (status !== 'pending')
    return refuse(
      'job_not_pending',
      `Job ${id} is ${status}: only a pending job has a position in the queue`,
    );
  const awaited = approval === 'wanted' ? 'approval' : 'other jobs';
  return refuse(
    'job_not_pending',
    `Job ${id} waits for ${awaited}; it gets a position in the queue afterwards`,
  );
}

function describeBoundary(boundary: Boundary, { id }: Job, target: Job): string {
  switch (boundary) {
    case 'target_is_top':
      return `Job ${target.id} was moved to the top, and job ${id} was not: move job ${id} to the top, too`;
    case 'job_is_top':
      return `Job ${id} was moved to the top, and job ${target.id} was not: set the priority of job ${id} first`;
    case 'priority':
      return `Jobs ${id} and ${target.id} differ in priority: set the priority of job ${id} first`;
  }
}

function moveBeside(core: Core, tx: Tx, job: PendingJob, target: PendingJob, side: Side, by: Actor): void {
  const { spread, below, above } = makeRoom(tx, job, target, side);
  // Turns are the sort numbers of jobs with the same priority. The neighbours keep their order, so new turns cause no event.
  giveTurns(tx, below, spread.below);
  giveTurns(tx, above, spread.above);
  const moved = { ...job, rank: rankBeside(job.rank, target.rank, spread.turn) };
  replace(tx, job, moved);
  const { priority, boosts, top } = moved.rank;
  const { status } = moved;
  recordJobEvent(core, tx, 'job.moved', moved, by, {
    from: status,
    to: status,
    priority,
    boosts,
    top,
    [side]: target.id,
  });
}

function giveTurns(tx: Tx, jobs: readonly PendingJob[], turns: readonly number[]): void {
  for (const [index, was] of jobs.slice(0, turns.length).entries())
    replace(tx, was, { ...was, rank: { ...was.rank, turn: turns[index] ?? was.rank.turn } });
}

function replace(tx: Tx, was: PendingJob, next: PendingJob): void {
  if (!tx.replaceJob(was, next))
    throw new Error(`job ${was.id} was changed by something else during its transaction`);
}

interface Room {
  readonly spread: Spread;
  /** The jobs directly before the gap, which have lower turns; the nearest first. */
  readonly below: readonly PendingJob[];
  /** The jobs directly after the gap; the nearest first. */
  readonly above: readonly PendingJob[];
}

/** Room after the last turn of the queue. It only has to be far above 2 ** -20, the minimum distance between two turns. */
const roomAtEnd = 2 ** -10;

/** Number of neighbours to read first. There is almost always room between the nearest jobs. */
const firstLimit = 8;

/**
 * Finds a turn for the moved job between its new neighbours. If their turns are too close, also finds new turns for the
 * nearest neighbours. Reads more neighbours until there is room.
 */
function makeRoom(tx: Tx, job: PendingJob, target: PendingJob, side: Side, limit = firstLimit): Room {
  const read = (of: Side) => {
    const neighbours = tx.neighbours(target, of, limit);
    const jobs = of === side ? neighbours : [target, ...neighbours];
    return { jobs: jobs.filter(({ id }) => id !== job.id), isAll: neighbours.length < limit };
  };
  const [before, after] = [read('before'), read('after')];
  const below = before.jobs.map(turnOf);
  const above = after.jobs.map(turnOf);
  const first = Math.min(...below, ...above);
  // At the end of the queue, the moved job must stay before all new jobs, whose turns are their order numbers.
  const last = Math.max(tx.nextJobOrder(), Math.max(...below, ...above) + roomAtEnd);
  const spread = spreadInto({
    below: before.isAll ? [...below, first - 1] : below,
    above: after.isAll ? [...above, last] : above,
  });
  return spread === null
    ? makeRoom(tx, job, target, side, limit * 8)
    : { spread, below: before.jobs, above: after.jobs };
}

const turnOf = ({ rank }: PendingJob): number => rank.turn;
