import type { AttemptId, JobId, SessionId, TokenId, WorkerId } from '../../../protocol/ids.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';

export interface NewToken {
  readonly token: string;
  /** SHA-256 of the token in lower-case hex. Only this is stored. */
  readonly hash: string;
}

export interface Ids {
  worker(): WorkerId;
  job(): JobId;
  attempt(): AttemptId;
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
