import { createRanking } from './ranking.ts';
import { byTurn, type UserQueue, type Shape, type Waiting } from './shapes.ts';
import type { WaitingJob } from '../../ports/jobs.ts';

/** Number of empty queues that a shape may have before `sweep` removes them. */
const spareQueues = 32;

const noData: readonly string[] = [];

/** Adds a job to its user's queue in the shape, which groups pending jobs of one team with the same requirements. */
export function joinQueue(
  shape: Shape,
  { id, user, level, order, avoid, requirements }: WaitingJob,
): Waiting {
  const queue = shape.queues.get(user) ?? createUserQueue(shape, user);
  shape.queues.set(user, queue);
  if (queue.jobs.size === 0) shape.filled++;
  const job = { id, level, order, avoid, data: requirements.data ?? noData, queue, isLive: true };
  queue.jobs.add(job);
  updateHead(queue);
  return job;
}

/** Removes a job from the queue of its user. */
export function leaveQueue(job: Waiting): void {
  const { queue } = job;
  queue.jobs.drop(job);
  updateHead(queue);
  if (queue.jobs.size > 0) return;
  queue.shape.filled--;
  sweep(queue.shape);
}

function sweep(shape: Shape): void {
  if (shape.queues.size <= 2 * shape.filled + spareQueues) return;
  for (const queue of shape.queues.values()) {
    if (queue.jobs.size > 0) continue;
    shape.queues.delete(queue.user);
    queue.parkedIn?.delete(queue);
  }
}

function park(queue: UserQueue, among: Set<UserQueue>): void {
  among.add(queue);
  queue.parkedIn = among;
  updateHead(queue);
}

function unparkAll(queues: Set<UserQueue>): void {
  for (const queue of queues) {
    queue.parkedIn = undefined;
    updateHead(queue);
  }
  queues.clear();
}

const createUserQueue = (shape: Shape, user: string): UserQueue => ({
  shape,
  user,
  jobs: createRanking<Waiting>(byTurn),
  head: undefined,
  parkedIn: undefined,
});

function updateHead(queue: UserQueue): void {
  const first = queue.parkedIn === undefined ? queue.jobs.first() : undefined;
  if (first === queue.head?.job) return;
  if (queue.head !== undefined) queue.shape.heads.drop(queue.head);
  queue.head = first && { job: first, isLive: true };
  if (queue.head !== undefined) queue.shape.heads.add(queue.head);
}

/** Tracks users at their limit. When such a user's queue reaches the front, it is parked until the user is below the limit. */
export interface UserLimits {
  isReached(user: string): boolean;
  set(user: string, isReached: boolean): void;
  /** Returns the first job of a shape whose user is below the limit. */
  firstFree(shape: Shape): Waiting | undefined;
}

interface UserLimit {
  isReached: boolean;
  readonly queues: Set<UserQueue>;
}

export function createUserLimits(): UserLimits {
  /** All users that have ever been at their limit. Entries stay, because repeated deletion of keys makes a map slow. */
  const limits = new Map<string, UserLimit>();
  return {
    isReached: user => limits.get(user)?.isReached === true,
    set(user, isReached) {
      const limit = limits.get(user) ?? { isReached, queues: new Set() };
      limits.set(user, limit);
      limit.isReached = isReached;
      if (!isReached) unparkAll(limit.queues);
    },
    firstFree({ heads }) {
      for (let head = heads.first(); head !== undefined; head = heads.first()) {
        const { queue } = head.job;
        const limit = limits.get(queue.user);
        if (limit?.isReached !== true) return head.job;
        park(queue, limit.queues);
      }
      return undefined;
    },
  };
}
