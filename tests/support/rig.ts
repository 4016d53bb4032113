import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { buildWorker } from '../../dev/worker/build.ts';
import { type Program, root, startProgram, temporaryFolder } from './processes.ts';
import { endTrainings } from './trainings.ts';

/** The programs of the simulated machine. */
const tools = 'cat chmod curl cut env getent grep id ln mkdir mv rm sed sh sha256sum sleep tr uname'.split(
  ' ',
);

/**
 * A simulated machine with a shell and standard Linux tools. It has no Node, no environment variables, and no files in the home
 * folder.
 */
export interface BareMachine {
  readonly home: string;
  readonly path: string;
  /** Runs a command line in the machine's shell, as a user does. The program ends with the test. */
  run(line: string, env?: Readonly<Record<string, string>>): Program;
}

export function openBareMachine(): BareMachine {
  const home = temporaryFolder();
  const bin = join(home, 'tools');
  mkdirSync(bin);
  for (const name of tools)
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name));
  return {
    home,
    path: bin,
    run(line, env = {}) {
      const variables = Object.entries({ PATH: bin, HOME: home, ...env }).map(pair => pair.join('='));
      const program = startProgram(['/usr/bin/env', '-i', ...variables, 'sh', '-c', line], { cwd: home });
      onTestFinished(async () => {
        for (const pid of programsIn(home)) process.kill(pid, 'SIGKILL');
        await program.exited;
        await endTrainings(join(home, '.local/state'));
      });
      return program;
    },
  };
}

/** Returns the pids of running programs whose executable is below this home folder. */
export function programsIn(home: string): readonly number[] {
  const links = execFileSync('sh', ['-c', 'ls -l /proc/[0-9]*/exe 2>/dev/null || :'], { encoding: 'utf8' });
  return links
    .split('\n')
    .filter(line => line.includes(`-> ${home}/`))
    .map(line => Number(/\/proc\/(\d+)\/exe/.exec(line)?.[1]));
}

/** Returns the arguments of a process, which every user of the machine can read. */
export const argumentsOf = (pid: number): readonly string[] =>
  readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);

/**
 * Builds the worker programs that rigs download. `executable`: path of the program with its own Node; null if there is none for
 * this platform.
 */
export async function buildPrograms(): Promise<{
  readonly folder: string;
  readonly executable: string | null;
}> {
  const folder = temporaryFolder();
  const { executables } = await buildWorker({ root, folder });
  return { folder, executable: executables[0]?.path ?? null };
}
