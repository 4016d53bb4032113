import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import type { Requirements } from '../../../../protocol/job.ts';
import { compileMatcher, type Matcher } from '../../rules/matching.ts';
import type { Offering } from '../../model.ts';
import { createRanking, type Rankable, type Ranking } from './ranking.ts';

/** Pending jobs of one team with the same requirements. */
export interface Shape {
  readonly key: string;
  /** Null for jobs without a team. */
  readonly team: string | null;
  readonly matcher: Matcher;
  /** By user. An empty line stays for the next job: repeated insertion and deletion of a key makes a map slow. */
  readonly lines: Map<string, UserQueue>;
  /** Number of lines that are not empty. */
  filled: number;
  /** The first job of each line that is not parked. */
  readonly heads: Ranking<Head>;
  /** Classes that fit and have an idle worker: remote ones first, then those with least to spare. */
  readonly open: Ranking<Place>;
}

/** One user's jobs of a shape. */
export interface UserQueue {
  readonly shape: Shape;
  readonly user: string;
  readonly jobs: Ranking<Waiting>;
  /** Its entry in `heads`; undefined while it is parked or empty. */
  head: Head | undefined;
  /** The set of parked lines that has this one. A line is parked when it reaches the front while its user is held. */
  parkedIn: Set<UserQueue> | undefined;
}

/** A job in its line. There may be very many, so it has only what placement needs. */
export interface Waiting extends Rankable {
  readonly id: JobId;
  readonly level: number;
  readonly order: number;
  readonly avoid: WorkerId | null;
  /** Dataset versions that it needs. */
  readonly data: readonly string[];
  readonly line: UserQueue;
}

interface Head extends Rankable {
  readonly job: Waiting;
}

/** Workers with the same offering. */
export interface WorkerClass {
  readonly key: string;
  readonly offering: Offering;
  readonly idle: Ranking<Idle>;
  /** The shapes that it fits, each with the class's entry in `shape.open`, which is live while the class has an idle worker. */
  readonly fits: Map<Shape, Place>;
}

export interface Place extends Rankable {
  readonly group: WorkerClass;
}

export interface Idle extends Rankable {
  readonly id: WorkerId;
  /** Dataset versions on its rig. */
  readonly datasets: readonly string[];
  readonly order: number;
  readonly group: WorkerClass;
}

type Turn = Pick<Waiting, 'level' | 'order'>;

export const byTurn = (a: Turn, b: Turn): number => b.level - a.level || a.order - b.order;

/** Negative when a worker of the first class is taken before one of the second. */
export const bySpare = (
  { offering: a }: Pick<WorkerClass, 'offering'>,
  { offering: b }: Pick<WorkerClass, 'offering'>,
): number => Number(a.local) - Number(b.local) || a.gpuCount - b.gpuCount || a.vramGb - b.vramGb;

export const createShape = (key: string, needs: Requirements, team: string | null): Shape => ({
  key,
  team,
  matcher: compileMatcher(needs),
  lines: new Map(),
  filled: 0,
  heads: createRanking<Head>((a, b) => byTurn(a.job, b.job)),
  open: createRanking<Place>((a, b) => bySpare(a.group, b.group)),
});

export const createClass = (key: string, offering: Offering): WorkerClass => ({
  key,
  offering,
  idle: createRanking((a, b) => a.order - b.order),
  fits: new Map(),
});
