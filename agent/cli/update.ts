import { createHash, randomBytes } from 'node:crypto';
import { renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf } from '../files/failure-text.ts';
import {
  downloadProgram,
  type FetchDeps,
  getFile,
  readPieces,
  UpdateError,
  versionOrFail,
} from '../update/fetch-program.ts';
import { sha256Of } from '../update/program.ts';

export interface UpdateDeps extends FetchDeps {
  /** The expected SHA-256 of SHA256SUMS; null when the connection itself authenticates the server. */
  readonly sums: string | null;
  /** Returns the output of a program for `--version`; rejects when it does not run. */
  readonly versionOf: (command: readonly string[]) => Promise<string>;
}

export type Updated =
  | { readonly kind: 'current' | 'replaced'; readonly version: string }
  /** The update failed, and nothing was changed. */
  | { readonly kind: 'failed'; readonly message: string };

/** Maximum size of SHA256SUMS. */
const maxSumsBytes = 10_000;
/** Timeout for downloading SHA256SUMS. */
const sumsTimeoutMs = 30_000;

/**
 * Replaces this program with the orchestrator's version, by one rename. Before that, checks that the new program has the
 * SHA-256 from SHA256SUMS and can print its version. Running processes continue with the old program.
 */
export async function updateProgram(deps: UpdateDeps): Promise<Updated> {
  const { own, versionOf } = deps;
  const draft = join(dirname(own.path), `.${randomBytes(6).toString('hex')}-${own.name}`);
  try {
    const expectedSum = await fetchAnnouncedSum(deps);
    if ((await sha256Of(own.path)) === expectedSum)
      return { kind: 'current', version: await versionOf([...own.runner, own.path]) };
    await downloadProgram(deps, draft, expectedSum);
    const version = await versionOrFail(() => versionOf([...own.runner, draft]));
    renameSync(draft, own.path);
    return { kind: 'replaced', version };
  } catch (cause) {
    return { kind: 'failed', message: cause instanceof UpdateError ? cause.message : reasonOf(cause) };
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Returns the SHA-256 of this program in the orchestrator's SHA256SUMS. */
async function fetchAnnouncedSum(deps: UpdateDeps): Promise<string> {
  const bytes: Uint8Array[] = [];
  const answer = await getFile(deps, 'SHA256SUMS', sumsTimeoutMs);
  await readPieces(answer, maxSumsBytes, async piece => void bytes.push(piece));
  const text = Buffer.concat(bytes).toString('latin1');
  if (deps.sums !== null && createHash('sha256').update(text, 'latin1').digest('hex') !== deps.sums)
    throw new UpdateError(
      `The SHA256SUMS of ${deps.url} does not match --sums. Copy the command from the panel again. If it is the same, an ` +
        'attacker intercepts the connection',
    );
  const entry = text
    .split('\n')
    .map(line => /^([0-9a-f]{64}) [ *](.+)$/.exec(line))
    .find(match => match?.[2] === deps.own.name);
  if (entry?.[1] === undefined)
    throw new UpdateError(
      `${deps.url} does not offer ${deps.own.name}: to build it, run "npm run build" there`,
    );
  return entry[1];
}
