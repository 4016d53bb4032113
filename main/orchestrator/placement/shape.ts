import type { JobId, WorkerId } from '../../../protocol/ids.ts';
import type { Requirements } from '../../../protocol/job.ts';
import { compileMatcher, type Matcher, type Offering } from '../matching.ts';
import { createRanking, type Rankable, type Ranking } from './ranking.ts';

/** Jobs of one team that want the same. */
export interface Shape {
  readonly key: string;
  /** Null for jobs without a team. */
  readonly team: string | null;
  readonly matcher: Matcher;
  /** By user. One that has become empty stays for the next job: a key that comes and goes makes a map slow. */
  readonly lines: Map<string, Line>;
  /** How many lines are not empty. */
  filled: number;
  /** The first of each line that is not parked. */
  readonly heads: Ranking<Head>;
  /** Those that fit and have somebody idle: first the remote ones, and of those the one with least to spare. */
  readonly open: Ranking<Place>;
}

/** One user's jobs of a shape. */
export interface Line {
  readonly shape: Shape;
  readonly user: string;
  readonly jobs: Ranking<Waiting>;
  /** Its place among the heads; none while it is parked. */
  head: Head | undefined;
  /** Lines that are out of the way of others: they were found in front while their user was held. */
  parkedIn: Set<Line> | undefined;
}

/** A job in its line. There may be very many: no more is kept of it than its turn takes. */
export interface Waiting extends Rankable {
  readonly id: JobId;
  readonly level: number;
  readonly order: number;
  readonly avoid: WorkerId | null;
  /** Versions of datasets that it needs. */
  readonly data: readonly string[];
  readonly line: Line;
}

interface Head extends Rankable {
  readonly job: Waiting;
}

/** Workers that offer the same. */
export interface WorkerClass {
  readonly key: string;
  readonly offering: Offering;
  readonly idle: Ranking<Idle>;
  /** The shapes that it fits, with its place among those that are open to them: a live one while somebody is idle. */
  readonly fits: Map<Shape, Place>;
}

export interface Place extends Rankable {
  readonly group: WorkerClass;
}

export interface Idle extends Rankable {
  readonly id: WorkerId;
  /** Versions of datasets that its rig has. */
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
