import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { ProgramName } from '../../protocol/agent-api.ts';
import type { Registration } from '../../protocol/worker-api.ts';
import type { AgentConfig } from '../config/index.ts';

/** The program file of this worker, if an orchestrator distributes it (docs/workers.md). */
export interface OwnProgram {
  /** File name in the orchestrator's downloads. */
  readonly name: ProgramName;
  readonly path: string;
  /** The command that runs the file: Node for the script, empty for the executable. */
  readonly runner: readonly string[];
}

/** The executables by platform and processor. */
const executableNames: Readonly<Record<string, ProgramName>> = {
  'linux-x64': 'trainyard-worker-linux-x64',
  'linux-arm64': 'trainyard-worker-linux-arm64',
  'darwin-arm64': 'trainyard-worker-darwin-arm64',
  'win32-x64': 'trainyard-worker-win32-x64.exe',
};

/**
 * Returns the program file of this process; null in a source checkout, because its program is more than one file.
 * `realpath` resolves links, and throws if the file is missing.
 */
export function ownProgram(
  ownCommand: readonly string[],
  realpath: (path: string) => string,
): OwnProgram | null {
  const [file = '', ...rest] = ownCommand;
  const script = rest.at(-1);
  if (script === undefined) {
    const name = executableNames[`${process.platform}-${process.arch}`];
    return name === undefined ? null : { name, path: realpath(file), runner: [] };
  }
  const path = realpath(script);
  return basename(path) === 'trainyard-worker.mjs'
    ? { name: 'trainyard-worker.mjs', path, runner: [file] }
    : null;
}

/**
 * Returns the SHA-256 of a file in hex. Reads into one buffer, because an idle worker would keep the memory of a
 * stream.
 */
export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  const file = await open(path);
  try {
    const piece = Buffer.allocUnsafe(262_144);
    for (;;) {
      const { bytesRead } = await file.read(piece);
      if (bytesRead === 0) return hash.digest('hex');
      hash.update(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

/** Returns whether an attacker on the network could replace what the worker downloads. */
export function isInsecure({
  orchestratorUrl: url,
  trust,
}: Pick<AgentConfig, 'orchestratorUrl' | 'trust'>): boolean {
  const { protocol, hostname } = new URL(url);
  const isHere = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  return !isHere && (protocol !== 'https:' || !trust.verify);
}

type Reported = NonNullable<Registration['program']>;

/** The program of this process. */
export interface UpdatableProgram {
  /** The program as registrations report it. */
  readonly reported: Reported;
  /** The file that an update replaces; null when this process cannot replace its program. */
  readonly own: OwnProgram | null;
}

interface ProgramDeps {
  readonly config: Pick<
    AgentConfig,
    'orchestratorUrl' | 'trust' | 'persistent' | 'leavesWithParent' | 'remoteUpdate' | 'isTrial'
  >;
  readonly ownCommand: readonly string[];
  /** Whether the next program can be started with the arguments of this process. */
  readonly canRestart: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
}

/**
 * Call when this process starts. Reads the program's hash, because another worker of this machine may replace the
 * file later.
 */
export async function describeProgram(deps: ProgramDeps): Promise<UpdatableProgram> {
  const { config } = deps;
  const program = findOwn(deps);
  const blocked = program === null ? 'checkout' : findBlock(program, deps);
  const sha256 = program === null ? null : await sha256Of(program.path).catch(() => null);
  return { own: program, reported: { name: program?.name ?? null, sha256, blocked, trial: config.isTrial } };
}

function findOwn({ ownCommand, canRestart }: ProgramDeps): OwnProgram | null {
  try {
    return canRestart ? ownProgram(ownCommand, realpathSync) : null;
  } catch {
    return null;
  }
}

function findBlock(program: OwnProgram, { config, env, pid }: ProgramDeps): Reported['blocked'] {
  if (config.leavesWithParent && !config.isTrial) return 'local';
  if (!config.remoteUpdate) return 'off';
  if (isContainerImage(env, pid)) return 'container';
  if (isInsecure(config)) return 'insecure';
  if (!config.persistent) return 'ephemeral';
  return isReplaceable(program.path) ? null : 'read_only';
}

/**
 * Whether the program comes from a container image, so that the next start would restore the old program. This is true for
 * the first process of a container. A worker that joined inside a rented machine is a later process, and stays updated.
 * An image can also set `TRAINYARD_CONTAINER`.
 */
const isContainerImage = (env: ProgramDeps['env'], pid: number): boolean =>
  (env['TRAINYARD_CONTAINER'] ?? '') !== '' ||
  (pid === 1 && (existsSync('/.dockerenv') || existsSync('/run/.containerenv')));

function isReplaceable(path: string): boolean {
  try {
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
