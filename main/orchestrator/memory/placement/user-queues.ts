import { createRanking } from './ranking.ts';
import { byTurn, type UserQueue, type Shape, type Waiting } from './shapes.ts';
import type { WaitingJob } from '../../ports/jobs.ts';

/** Number of empty lines to tolerate before a sweep. */
const spareLines = 32;

const noData: readonly string[] = [];

export function joinQueue(
  shape: Shape,
  { id, user, level, order, avoid, requirements }: WaitingJob,
): Waiting {
  const line = shape.lines.get(user) ?? createUserQueue(shape, user);
  shape.lines.set(user, line);
  if (line.jobs.size === 0) shape.filled++;
  const job = { id, level, order, avoid, data: requirements.data ?? noData, line, isLive: true };
  line.jobs.add(job);
  settleHead(line);
  return job;
}

export function leaveQueue(job: Waiting): void {
  const { line } = job;
  line.jobs.drop(job);
  settleHead(line);
  if (line.jobs.size > 0) return;
  line.shape.filled--;
  sweep(line.shape);
}

function sweep(shape: Shape): void {
  if (shape.lines.size <= 2 * shape.filled + spareLines) return;
  for (const line of shape.lines.values()) {
    if (line.jobs.size > 0) continue;
    shape.lines.delete(line.user);
    line.parkedIn?.delete(line);
  }
}

function park(line: UserQueue, among: Set<UserQueue>): void {
  among.add(line);
  line.parkedIn = among;
  settleHead(line);
}

function unparkAll(lines: Set<UserQueue>): void {
  for (const line of lines) {
    line.parkedIn = undefined;
    settleHead(line);
  }
  lines.clear();
}

const createUserQueue = (shape: Shape, user: string): UserQueue => ({
  shape,
  user,
  jobs: createRanking<Waiting>(byTurn),
  head: undefined,
  parkedIn: undefined,
});

function settleHead(line: UserQueue): void {
  const first = line.parkedIn === undefined ? line.jobs.first() : undefined;
  if (first === line.head?.job) return;
  if (line.head !== undefined) line.shape.heads.drop(line.head);
  line.head = first && { job: first, isLive: true };
  if (line.head !== undefined) line.shape.heads.add(line.head);
}

/** Users at their limit. When a line of such a user reaches the front, it is parked until the user is below the limit. */
export interface UserLimits {
  isReached(user: string): boolean;
  set(user: string, isReached: boolean): void;
  /** The first job of a shape whose user is below the limit. */
  firstFree(shape: Shape): Waiting | undefined;
}

interface UserLimit {
  isReached: boolean;
  readonly lines: Set<UserQueue>;
}

export function createUserLimits(): UserLimits {
  /** All users that have ever been at their limit: repeated insertion and deletion of a key makes a map slow. */
  const limits = new Map<string, UserLimit>();
  return {
    isReached: user => limits.get(user)?.isReached === true,
    set(user, isReached) {
      const limit = limits.get(user) ?? { isReached, lines: new Set() };
      limits.set(user, limit);
      limit.isReached = isReached;
      if (!isReached) unparkAll(limit.lines);
    },
    firstFree({ heads }) {
      for (let head = heads.first(); head !== undefined; head = heads.first()) {
        const { line } = head.job;
        const limit = limits.get(line.user);
        if (limit?.isReached !== true) return head.job;
        park(line, limit.lines);
      }
      return undefined;
    },
  };
}
