import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { watchFolder } from '../files/folder-watch.ts';
import { readExit, readGuard, readTrainer, type RunFolder, takeRun } from './guard-files.ts';
import { type Command, endGroup } from '../process/process-group.ts';
import type { ProcessRef, Processes } from '../process/processes.ts';

export interface LaunchDeps {
  /** This program's own command line, up to its `guard` subcommand. */
  readonly ownCommand: readonly string[];
  readonly processes: Processes;
  readonly clock: Clock;
}

export interface Guarded {
  /** The guard's process; null when it has already ended. */
  readonly guard: ProcessRef | null;
  /** The trainer's process; null when it failed to start, or ended before the guard could identify it. */
  readonly trainer: ProcessRef | null;
}

/** The timeout for the start of the guard. It is long, because a slow disk delays the start. */
const startTimeoutMs = 60_000;
const checkEveryMs = 100;

/**
 * Starts the guard of a run as a process that outlives this one. The task must be on disk. Rejects when the guard does
 * not start.
 */
export async function launchGuard(run: RunFolder, command: Command, deps: LaunchDeps): Promise<Guarded> {
  const { processes, clock, ownCommand } = deps;
  const [file = '', ...args] = ownCommand;
  const errorFile = join(run.path, 'guard.err');
  const stderr = openSync(errorFile, 'a', 0o600);
  const child = spawn(file, [...args, 'guard', run.path], {
    cwd: command.cwd,
    env: { ...command.env },
    stdio: ['ignore', 'ignore', stderr],
    ...processes.asSurvivor,
  });
  closeSync(stderr);
  child.unref();
  const ended = Promise.withResolvers<never>();
  child.once('error', cause => ended.reject(new GuardError(cause.message)));
  child.once('exit', () => {
    // The guard writes nothing after its exit, so this check is final.
    if (guardedOf(run) === null) ended.reject(new GuardError(lastLineOf(errorFile)));
  });
  const cancelTimer = clock.after(startTimeoutMs, () => ended.reject(new GuardError('it does not answer')));
  const watched = untilGuarded(run, clock);
  try {
    return await Promise.race([watched.guarded, ended.promise]);
  } catch (cause) {
    child.kill('SIGKILL');
    takeRun(run, null);
    const trainer = readTrainer(run);
    if (trainer !== null) await endGroup(trainer, 0, deps);
    throw cause;
  } finally {
    cancelTimer();
    watched.unwatch();
  }
}

class GuardError extends Error {
  constructor(why: string) {
    super(`its guard could not be started: ${why}`);
  }
}

function untilGuarded(run: RunFolder, clock: Clock) {
  const guarded = Promise.withResolvers<Guarded>();
  const check = async (): Promise<void> => {
    const guardedRun = guardedOf(run);
    if (guardedRun !== null) guarded.resolve(guardedRun);
  };
  const unwatch = watchFolder({ folder: run.path, check, everyMs: checkEveryMs, clock });
  return { guarded: guarded.promise, unwatch };
}

/** Returns null until the guard has recorded itself, and either its trainer or the exit. */
function guardedOf(run: RunFolder): Guarded | null {
  const guard = readGuard(run);
  const trainer = readTrainer(run);
  return guard === null || guard === 'called_off' || (trainer === null && readExit(run) === null)
    ? null
    : { guard, trainer };
}

function lastLineOf(errorFile: string): string {
  try {
    const text = readFileSync(errorFile, 'utf8').trim().slice(-500);
    return text === '' ? 'it ended immediately' : text;
  } catch {
    return 'it ended immediately';
  }
}
