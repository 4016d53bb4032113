import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { Answer, Fetch } from '../../protocol/client.ts';
import { explainFailure } from '../connection/connection-warnings.ts';
import { reasonOf } from '../files/failure-text.ts';
import type { OwnProgram } from './program.ts';

/** A failure with a message for people. A retry may not help. */
export class UpdateError extends Error {
  override readonly name: string = 'UpdateError';
}

/** A temporary failure: the connection broke, or the server is busy. A retry may succeed. */
export class PassingError extends UpdateError {
  override readonly name = 'PassingError';
}

export interface FetchDeps {
  readonly url: string;
  readonly fetch: Fetch;
  readonly own: OwnProgram;
  /** Fires when the program is not needed any more. */
  readonly signal?: AbortSignal;
}

/** Maximum size of a download. The worker's programs are smaller. */
const maxBytes = 512 * 1024 ** 2;
/** Timeout for a download: enough for 120 MB at 100 KB/s. */
const downloadTimeoutMs = 20 * 60_000;

/** Requests a file of the orchestrator's downloads. */
export async function getFile(
  { url, fetch, signal }: FetchDeps,
  name: string,
  timeoutMs: number,
): Promise<Answer> {
  const address = new URL(`${url}/agent/${name}`);
  const timeout = AbortSignal.timeout(timeoutMs);
  const anySignal = signal === undefined ? timeout : AbortSignal.any([timeout, signal]);
  const answer = await fetch(address, { signal: anySignal }).catch((cause: unknown) => {
    throw new PassingError(explainFailure({ kind: 'unreachable', cause }, url), { cause });
  });
  if (answer.status === 200) return answer;
  await answer.body?.cancel();
  if (answer.status === 404)
    throw new UpdateError(
      `${url} does not offer ${name}: to build it, run "npm run build" on the machine of the orchestrator`,
    );
  throw new PassingError(`${url} answered ${answer.status} to the request for ${name}: try again later`);
}

/** Downloads this worker's program into `draft`, which must not exist. Throws unless it has the expected SHA-256. */
export async function downloadProgram(deps: FetchDeps, draft: string, expectedSum: string): Promise<void> {
  const hash = createHash('sha256');
  const answer = await getFile(deps, deps.own.name, downloadTimeoutMs);
  const file = await open(draft, 'wx', 0o755);
  try {
    await readPieces(answer, maxBytes, async piece => {
      hash.update(piece);
      await file.write(piece);
    });
    await file.sync();
  } finally {
    await file.close();
  }
  if (hash.digest('hex') !== expectedSum)
    throw new UpdateError(`The program from ${deps.url} does not match its SHA-256: try again`);
}

/** Reads a response piece by piece. Throws when it is larger than `limit` bytes. */
export async function readPieces(
  answer: Answer,
  limit: number,
  onPiece: (piece: Uint8Array) => Promise<void>,
): Promise<void> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  let length = 0;
  const next = () =>
    reader.read().catch((cause: unknown) => {
      throw new PassingError(`The download broke off: ${reasonOf(cause)}`, { cause });
    });
  for (let read = await next(); !read.done; read = await next()) {
    length += read.value.length;
    if (length > limit) {
      await reader.cancel();
      throw new UpdateError(
        `The response of ${answer.url} is too large: check that this is the orchestrator`,
      );
    }
    await onPiece(read.value);
  }
}

/** Returns the version that a new program prints. Throws when it does not run on this machine. */
export async function versionOrFail(readVersion: () => Promise<string>): Promise<string> {
  const version = await readVersion().catch((cause: unknown) => {
    throw new UpdateError(`The new program does not run on this machine: ${reasonOf(cause)}`, { cause });
  });
  if (!/^\d+\.\d+\.\d+\S*$/.test(version))
    throw new UpdateError('The new program does not print its version on this machine');
  return version;
}
