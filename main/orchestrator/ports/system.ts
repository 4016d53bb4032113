import type {
  AttemptId,
  JobId,
  SessionId,
  TokenId,
  WorkerId,
  LaunchId,
  PoolId,
} from '../../../protocol/ids.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { MonoMs, WallMs } from '../model.ts';

export interface Clock {
  wall(): WallMs;
  mono(): MonoMs;
  /** A wall time in RFC 3339, UTC. */
  iso(at: WallMs): string;
  /** Calls `run` once, no earlier than after `ms`. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The machine's clocks at one moment. */
export interface ClockReading {
  /** The wall clock, which people and time servers set. */
  readonly wall: WallMs;
  /** Milliseconds since the machine booted, including sleep. Nobody sets this clock. */
  readonly sinceBoot: number;
  /** Changes with each boot of the machine; null if unknown. */
  readonly bootId: string | null;
}

/** The trusted time at a reading, as stored for the next start. */
export interface ClockMark extends Omit<ClockReading, 'wall'> {
  readonly trusted: WallMs;
}

/**
 * The time of day, checked with two clocks. The wall clock may jump; the time since boot shows how much time really
 * passed. While the two disagree, the trusted time continues from where they last agreed.
 */
export interface TrustedTime {
  /** The best estimate of the current time, for spans that outlive the process. */
  now(): WallMs;
  /** The earlier of the two clocks' times. Use it to decide what is old enough to delete. */
  earliest(): WallMs;
  /** The later of the two clocks' times. Use it to stamp what will be deleted for its age. */
  latest(): WallMs;
  /** By how many ms the wall clock is ahead, negative when it is behind; null while the clocks agree. */
  jumpMs(): number | null;
  /** The mark to store for the next start. */
  mark(): ClockMark;
}

export interface NewToken {
  readonly token: string;
  /** SHA-256 of the token in lower-case hex. Only this is stored. */
  readonly hash: string;
}

export interface Ids {
  worker(): WorkerId;
  job(): JobId;
  attempt(): AttemptId;
  pool(): PoolId;
  launch(): LaunchId;
  apiTokenId(): TokenId;
  session(): SessionId;
  workerToken(): NewToken;
  sessionToken(): NewToken;
  apiToken(): NewToken;
  joinToken(): NewToken;
}

/** Makes the token with which an attempt uploads its files. Deterministic, so that an offer can be repeated. */
export type UploadTokenOf = (job: JobId, attempt: AttemptId, generation: number) => string;

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The server's side of a worker's stream. */
export interface WorkerStream {
  send(command: WorkerCommand): void;
  /** Ends the stream cleanly, after everything that was sent. */
  end(): void;
}
