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
  /** Null when the guard has already ended. */
  readonly guard: ProcessRef | null;
  /** Null when the trainer ended, or failed to start, before it was identified. */
  readonly trainer: ProcessRef | null;
}

/** The timeout for the guard to start. Even a slow disk is faster. */
const patienceMs = 60_000;
const checkEveryMs = 100;

/**
 * Starts the guard of a run whose task is on disk, as a process that outlives this one. Rejects when it does not start.
 */
export async function launchGuard(run: RunFolder, command: Command, deps: LaunchDeps): Promise<Guarded> {
  const { processes, clock, ownCommand } = deps;
  const [file = '', ...args] = ownCommand;
  const errors = join(run.path, 'guard.err');
  const stderr = openSync(errors, 'a', 0o600);
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
    if (guardedOf(run) === null) ended.reject(new GuardError(lastWords(errors)));
  });
  const takeBack = clock.after(patienceMs, () => ended.reject(new GuardError('it does not answer')));
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
    takeBack();
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
    const found = guardedOf(run);
    if (found !== null) guarded.resolve(found);
  };
  const unwatch = watchFolder({ folder: run.path, check, everyMs: checkEveryMs, clock });
  return { guarded: guarded.promise, unwatch };
}

/** Null until the guard is known, and with it a trainer or an exit. */
function guardedOf(run: RunFolder): Guarded | null {
  const guard = readGuard(run);
  const trainer = readTrainer(run);
  return guard === null || guard === 'called_off' || (trainer === null && readExit(run) === null)
    ? null
    : { guard, trainer };
}

function lastWords(errors: string): string {
  try {
    const words = readFileSync(errors, 'utf8').trim().slice(-500);
    return words === '' ? 'it ended at once' : words;
  } catch {
    return 'it ended at once';
  }
}
