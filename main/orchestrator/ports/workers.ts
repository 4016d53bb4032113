import type { WorkerId } from '../../../protocol/ids.ts';
import type { JoinToken, Worker } from '../model.ts';

/** Each rotation of a worker token starts a new generation of upload tokens. */
export interface UploadGenerations {
  readonly current: number;
  /** Valid while the old worker token is; null when there is none. */
  readonly old: number | null;
}

/** Workers and their tokens. */
export interface WorkerReads {
  worker(id: WorkerId): Worker | null;
  /** The name that a deleted worker had; null for any other. */
  deletedWorkerName(id: WorkerId): string | null;
  workers(): readonly Worker[];
  /**
   * The next workers after `id` in the order of their creation; null starts at the first. That worker may have been
   * removed meanwhile. Empty if it never existed.
   */
  workersAfter(id: WorkerId | null, limit: number): readonly Worker[];
  workerByTokenHash(hash: string): Worker | null;
  /** Which upload tokens of the worker's attempts are valid; null when the worker was deleted. */
  uploadGenerations(worker: WorkerId): UploadGenerations | null;
  /** By the SHA-256 of the token. */
  joinToken(hash: string): JoinToken | null;
}

export interface WorkerWrites {
  insertWorker(worker: Worker, tokenHash: string): void;
  updateWorker(worker: Worker): void;
  /**
   * With `keepOld`, the current token stays valid beside the new one until `dropOldToken`. If an older token is already
   * kept, that one stays valid instead, because it is the one that the agent has.
   */
  setTokenHash(worker: WorkerId, hash: string, keepOld: boolean): void;
  /** Returns false when there was none. Also ends the old generation of upload tokens. */
  dropOldToken(worker: WorkerId): boolean;
  /** Earlier upload tokens expire now or, with `keepOld`, together with the old worker token. */
  startUploadGeneration(worker: WorkerId, keepOld: boolean): void;
  /** The row stays for the history of its jobs, but it has no token and appears in no list. */
  removeWorker(worker: WorkerId): void;
  /** Replaces the worker's previous join token, if any. */
  setJoinToken(hash: string, token: JoinToken): void;
  /** Removes the worker's join token, used or not. */
  removeJoinToken(worker: WorkerId): void;
}
