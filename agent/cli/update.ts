import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Answer, Fetch } from '../../protocol/client.ts';
import { reasonOf } from '../files/failure-text.ts';
import { explainFailure } from '../connection/connection-warnings.ts';

export interface UpdateDeps {
  readonly url: string;
  readonly fetch: Fetch;
  readonly own: OwnProgram;
  /** The expected SHA-256 of SHA256SUMS; null when the connection itself authenticates the server. */
  readonly sums: string | null;
  /** Returns the output of a program for `--version`; rejects when it does not run. */
  readonly versionOf: (command: readonly string[]) => Promise<string>;
}

export type Updated =
  | { readonly kind: 'current' | 'replaced'; readonly version: string }
  /** The update failed, and nothing was changed. */
  | { readonly kind: 'failed'; readonly message: string };

/** Maximum size of a download. The worker's programs are smaller. */
const maxBytes = 512 * 1024 ** 2;
/** Maximum size of SHA256SUMS. */
const maxSumsBytes = 10_000;
/** The timeout of the download of SHA256SUMS. */
const sumsTimeoutMs = 30_000;
/** The timeout of a download: enough for 120 MB at 100 KB/s. */
const downloadTimeoutMs = 20 * 60_000;

/**
 * Replaces this program with the orchestrator's version, by one rename. Before that, it checks that the new program has the
 * SHA-256 from SHA256SUMS and can print its version. Running processes continue with the old program.
 */
export async function updateProgram(deps: UpdateDeps): Promise<Updated> {
  const { own, versionOf } = deps;
  const draft = join(dirname(own.path), `.${randomBytes(6).toString('hex')}-${own.name}`);
  try {
    const expectedSum = await fetchAnnouncedSum(deps);
    if ((await sha256Of(own.path)) === expectedSum)
      return { kind: 'current', version: await versionOf([...own.runner, own.path]) };
    await download(deps, draft, expectedSum);
    const version = await versionOrFail(() => versionOf([...own.runner, draft]));
    renameSync(draft, own.path);
    return { kind: 'replaced', version };
  } catch (cause) {
    return { kind: 'failed', message: cause instanceof UpdateError ? cause.message : reasonOf(cause) };
  } finally {
    rmSync(draft, { force: true });
  }
}

class UpdateError extends Error {
  override readonly name = 'UpdateError';
}

async function get({ url, fetch }: UpdateDeps, name: string, timeoutMs: number): Promise<Answer> {
  const address = new URL(`${url}/agent/${name}`);
  const answer = await fetch(address, { signal: AbortSignal.timeout(timeoutMs) }).catch((cause: unknown) => {
    throw new UpdateError(explainFailure({ kind: 'unreachable', cause }, url), { cause });
  });
  if (answer.status === 200) return answer;
  await answer.body?.cancel();
  throw new UpdateError(
    answer.status === 404
      ? `${url} does not offer ${name}: to build it, run "npm run build" on the machine of the orchestrator`
      : `${url} answered ${answer.status} to the request for ${name}: try again later`,
  );
}

/** Returns the SHA-256 of this program in the orchestrator's SHA256SUMS. */
async function fetchAnnouncedSum(deps: UpdateDeps): Promise<string> {
  const bytes: Uint8Array[] = [];
  const answer = await get(deps, 'SHA256SUMS', sumsTimeoutMs);
  await read(answer, maxSumsBytes, async piece => void bytes.push(piece));
  const text = Buffer.concat(bytes).toString('latin1');
  if (deps.sums !== null && createHash('sha256').update(text, 'latin1').digest('hex') !== deps.sums)
    throw new UpdateError(
      `The SHA256SUMS of ${deps.url} does not match --sums. Copy the command from the panel again. If it is the same, an ` +
        'attacker intercepts the connection',
    );
  const entry = text
    .split('\n')
    .map(line => /^([0-9a-f]{64}) [ *](.+)$/.exec(line))
    .find(found => found?.[2] === deps.own.name);
  if (entry?.[1] === undefined)
    throw new UpdateError(
      `${deps.url} does not offer ${deps.own.name}: to build it, run "npm run build" there`,
    );
  return entry[1];
}

async function download(deps: UpdateDeps, draft: string, wanted: string): Promise<void> {
  const hash = createHash('sha256');
  const answer = await get(deps, deps.own.name, downloadTimeoutMs);
  const file = await open(draft, 'wx', 0o755);
  try {
    await read(answer, maxBytes, async piece => {
      hash.update(piece);
      await file.write(piece);
    });
    await file.sync();
  } finally {
    await file.close();
  }
  if (hash.digest('hex') !== wanted)
    throw new UpdateError(`The program from ${deps.url} does not match its SHA256SUMS: try again`);
}

/** Reads a response piece by piece. Throws when it is larger than `limit` bytes. */
async function read(
  answer: Answer,
  limit: number,
  onPiece: (piece: Uint8Array) => Promise<void>,
): Promise<void> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  let length = 0;
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    length += next.value.length;
    if (length > limit) {
      await reader.cancel();
      throw new UpdateError(
        `The response of ${answer.url} is too large: check that this is the orchestrator`,
      );
    }
    await onPiece(next.value);
  }
}

async function versionOrFail(ask: () => Promise<string>): Promise<string> {
  const version = await ask().catch((cause: unknown) => {
    throw new UpdateError(`The new program does not run on this machine: ${reasonOf(cause)}`, { cause });
  });
  if (!/^\d+\.\d+\.\d+\S*$/.test(version))
    throw new UpdateError('The new program does not print its version on this machine');
  return version;
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** The program file of this worker, if an orchestrator distributes it (docs/workers.md). */
interface OwnProgram {
  /** File name in the orchestrator's downloads. */
  readonly name: 'trainyard-worker-linux-x64' | 'trainyard-worker.mjs';
  readonly path: string;
  /** The command that runs the file: Node for the script, empty for the executable. */
  readonly runner: readonly string[];
}

/**
 * Returns null in a source checkout, because its program is more than one file. `realpath` resolves links, and throws if the
 * file is missing.
 */
export function ownProgram(
  ownCommand: readonly string[],
  realpath: (path: string) => string,
): OwnProgram | null {
  const [file = '', ...rest] = ownCommand;
  const script = rest.at(-1);
  if (script === undefined) return { name: 'trainyard-worker-linux-x64', path: realpath(file), runner: [] };
  const path = realpath(script);
  return basename(path) === 'trainyard-worker.mjs'
    ? { name: 'trainyard-worker.mjs', path, runner: [file] }
    : null;
}
