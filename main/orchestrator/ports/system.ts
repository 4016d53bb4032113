import type {
  AttemptId,
  JobId,
  SessionId,
  TokenId,
  WorkerId,
  LaunchId,
  PoolId,
  ChannelId,
  RuleId,
  DeliveryId,
} from '../../../protocol/ids.ts';
import type { UpdateId } from '../../../protocol/worker-update.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { MonoMs, WallMs } from '../model.ts';

export interface Clock {
  wall(): WallMs;
  mono(): MonoMs;
  /** Formats a wall time in RFC 3339, UTC. */
  iso(at: WallMs): string;
  /** Calls `run` once, not before `ms` have elapsed. Returns a function that cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** A simultaneous reading of the machine's clocks. */
export interface ClockReading {
  /** The wall clock, which users and time servers can set. */
  readonly wall: WallMs;
  /** Milliseconds since the machine was booted, including sleep. This clock cannot be set. */
  readonly sinceBoot: number;
  /** Identifies the boot of the machine; null if unknown. */
  readonly bootId: string | null;
}

/** The trusted time and the reading of the clocks at that time, stored for the next start. */
export interface ClockMark extends Omit<ClockReading, 'wall'> {
  readonly trusted: WallMs;
}

/**
 * The time of day, checked with two clocks. The wall clock may jump, so the time since boot measures the elapsed time. While
 * the two clocks disagree, the trusted time ignores the wall clock, and advances with the time since boot.
 */
export interface TrustedTime {
  /** The best estimate of the current time, for spans that outlive the process. */
  now(): WallMs;
  /** The earlier of trusted time and wall clock. Use it to decide whether something is old enough to be deleted. */
  earliest(): WallMs;
  /** The later of trusted time and wall clock. Use it as the creation time of something that is deleted by age. */
  latest(): WallMs;
  /** Milliseconds by which the wall clock is ahead, negative when it is behind; null while the clocks agree. */
  jumpMs(): number | null;
  /** Returns the mark to store for the next start. */
  mark(): ClockMark;
}

export interface NewToken {
  readonly token: string;
  /** SHA-256 of the token in lower-case hex. Only the hash is stored. */
  readonly hash: string;
}

export interface Ids {
  worker(): WorkerId;
  job(): JobId;
  attempt(): AttemptId;
  pool(): PoolId;
  launch(): LaunchId;
  update(): UpdateId;
  channel(): ChannelId;
  rule(): RuleId;
  delivery(): DeliveryId;
  apiTokenId(): TokenId;
  session(): SessionId;
  workerToken(): NewToken;
  sessionToken(): NewToken;
  apiToken(): NewToken;
  joinToken(): NewToken;
}

/**
 * Returns the token with which an attempt uploads its files. The same arguments return the same token, so that repeated
 * offers contain the same token.
 */
export type UploadTokenOf = (job: JobId, attempt: AttemptId, generation: number) => string;

export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The server's end of a worker's stream. */
export interface WorkerStream {
  send(command: WorkerCommand): void;
  /** Ends the stream cleanly, after all commands were sent. */
  end(): void;
}
