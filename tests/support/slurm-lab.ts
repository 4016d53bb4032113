import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type RunProgram, createRunProgram } from '../../main/engines/run-program.ts';
import { type SlurmEngineOptions, createSlurmEngine } from '../../main/engines/slurm/index.ts';
import { EngineSettings, type SlurmSettings } from '../../protocol/pool.ts';
import { root } from './processes.ts';

export type Daemon = 'slurmctld' | `slurmd-rig${1 | 2 | 3 | 4 | 5}`;

/**
 * A complete Slurm cluster on this machine, in a temporary folder. tests/support/slurm-lab.sh defines its nodes and partitions.
 */
export interface SlurmLab {
  readonly folder: string;
  /** Runs commands with the environment of the cluster. The arguments of Slurm's commands are logged: see `calls`. */
  readonly run: RunProgram;
  /** Runs a command and returns its output. Throws when the command fails. */
  slurm(...argv: readonly string[]): Promise<string>;
  /** Returns the names and arguments of all Slurm commands so far, one command per line. */
  calls(): string;
  /**
   * The simulated worker (slurm-worker.sh). `start` returns the shell command that starts the worker. `lines` returns the lines
   * that the worker has written so far.
   */
  readonly worker: {
    readonly program: string;
    file(name: string): string;
    start(name: string): string;
    lines(name: string): readonly string[];
  };
  pid(daemon: Daemon): number;
  signal(daemon: Daemon, signal: NodeJS.Signals): void;
  start(daemon: Daemon): void;
  /** Ends all jobs and daemons. */
  stop(): void;
}

const script = join(root, 'tests/support/slurm-lab.sh');
const worker = join(root, 'tests/support/slurm-worker.sh');
const commands = ['sbatch', 'squeue', 'scancel', 'sinfo'] as const;
/** The daemons listen on consecutive ports: one for slurmctld, and one for each of the five nodes. */
const portCount = 6;

/** Starts a cluster, which takes about 2 s. Several clusters can run at the same time. Throws when Slurm is not installed. */
export async function startSlurmLab(moreConfiguration = ''): Promise<SlurmLab> {
  for (const [program, name] of [
    ['slurmctld', 'slurm-wlm'],
    ['munged', 'munge'],
  ] as const)
    if (findProgram(program) === null)
      throw new Error(`${program} is missing. Install it: apt-get install --no-install-recommends ${name}`);
  const folder = mkdtempSync(join(tmpdir(), 'slurm-'));
  writeFileSync(join(folder, 'more.conf'), moreConfiguration);
  const bin = wrapCommands(folder);
  try {
    control('up', folder, String(await findFreePorts()));
  } catch (error) {
    control('down', folder);
    throw error;
  }

  const run = createRunProgram({
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    HOME: folder,
    SLURM_CONF: join(folder, 'slurm.conf'),
    ORCHESTRATOR_SECRET: 'not for the job',
    // A partition in the user's environment must not hide jobs from the engine.
    SQUEUE_PARTITION: 'no-such-partition',
  });
  const read = (file: string): string => {
    try {
      return readFileSync(join(folder, file), 'utf8');
    } catch {
      return '';
    }
  };
  return {
    folder,
    run,
    async slurm(...argv) {
      const result = await run(argv, { timeoutMs: 20_000, env: { SQUEUE_PARTITION: undefined } });
      if (result.code !== 0) throw new Error(`${argv.join(' ')}: ${result.stderr}`);
      return result.stdout;
    },
    calls: () => read('calls'),
    worker: {
      program: worker,
      file: name => join(folder, `${name}.worker`),
      start: name => `exec '${worker}' '${join(folder, name)}.worker'`,
      lines: name => read(`${name}.worker`).split('\n').slice(0, -1),
    },
    pid: daemon => Number(read(`${daemon}.pid`)),
    signal: (daemon, signal) => process.kill(Number(read(`${daemon}.pid`)), signal),
    start: daemon => control('start', folder, daemon),
    stop: () => control('down', folder),
  };
}

function control(...args: readonly string[]): void {
  execFileSync(script, args, { stdio: ['ignore', 'ignore', 'inherit'], timeout: 60_000 });
}

/** Creates wrappers of Slurm's commands that log their arguments. Returns the folder to put first in PATH. */
function wrapCommands(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const name of commands) {
    const file = join(bin, name);
    const log = `printf '%s ' ${name} "$@" >>'${folder}/calls'; echo >>'${folder}/calls'`;
    writeFileSync(file, `#!/bin/sh\n${log}\nexec '${findProgram(name) ?? name}' "$@"\n`);
    chmodSync(file, 0o755);
  }
  return bin;
}

/** Returns the path of a program, also from /usr/sbin; null when the program is not installed. */
function findProgram(program: string): string | null {
  try {
    return execFileSync('sh', ['-c', `PATH="$PATH:/usr/sbin" command -v ${program}`], {
      encoding: 'utf8',
    }).trim();
  } catch {
    return null;
  }
}

/** Returns the first of `portCount` consecutive free ports. */
async function findFreePorts(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const areFree = Array.from({ length: portCount }, (_, index) => isFree(port + index));
    if ((await Promise.all(areFree)).every(Boolean)) return port;
  }
}

const isFree = (port: number): Promise<boolean> =>
  new Promise(resolve => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => {
      const { port: bound } = server.address() as AddressInfo;
      server.close(() => resolve(bound === port));
    });
  });

export const slurmSettings = (more: Partial<SlurmSettings> = {}): SlurmSettings => {
  const settings = EngineSettings.parse({ kind: 'slurm', ...more });
  if (settings.kind !== 'slurm') throw new Error('these are not settings of Slurm');
  return settings;
};

/** Creates an engine for the cluster, whose launches start simulated workers. */
export const slurmEngine = (
  lab: SlurmLab,
  {
    fleet,
    settings,
    ...more
  }: { readonly fleet: string; readonly settings?: Partial<SlurmSettings> } & Partial<
    Omit<SlurmEngineOptions, 'settings'>
  >,
) =>
  createSlurmEngine({
    fleet,
    settings: slurmSettings(settings),
    largest: { gpus: 2, wallTimeS: 600 },
    start: order => lab.worker.start(order.workerName),
    run: lab.run,
    ...more,
  });

/** Waits until a simulated worker has written a line. */
export const waitForReport = (
  slurmLab: SlurmLab,
  name: string,
  line: string,
  timeout = 20_000,
): Promise<void> =>
  vi.waitFor(
    () => {
      const lines = slurmLab.worker.lines(name);
      if (!lines.includes(line)) throw new Error(`${name} has not written "${line}": ${lines.join(', ')}`);
    },
    { timeout, interval: 50 },
  );
