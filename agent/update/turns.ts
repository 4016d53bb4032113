import { rmSync } from 'node:fs';
import type { Clock } from '../clock.ts';
import { reasonOf } from '../files/failure-text.ts';
import type { WorkerSignal } from '../session/signals.ts';
import { installProgram } from './install.ts';
import type { UpdatableProgram } from './program.ts';
import { replaceProcess } from './replace-process.ts';
import { startTrial } from './trial.ts';
import type { FailedUpdate, StagedProgram } from './updater.ts';

/**
 * The end of a turn, which is one run of the worker in this process: an exit code, or the new program that takes over.
 */
export type TurnEnd = number | StagedProgram;

export interface TurnsDeps {
  readonly clock: Clock;
  readonly program: UpdatableProgram;
  /** The arguments of this worker, without its program. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onSignals: (pass: (signal: WorkerSignal) => void) => void;
  readonly log: (message: string) => void;
  /** Runs the worker until it leaves. Resolves after the worker has released its state folder. */
  readonly turn: (failed: FailedUpdate | null) => Promise<TurnEnd>;
}

/**
 * Runs the worker. For an update, the new program first runs beside the old one. When the new program has registered, it
 * replaces the old file, and then this process. If it fails, nothing is replaced, and the old program continues.
 */
export async function runTurns(deps: TurnsDeps): Promise<number> {
  let failed: FailedUpdate | null = null;
  for (;;) {
    const end = await deps.turn(failed);
    if (typeof end === 'number') return end;
    const { own } = deps.program;
    if (own === null) return 1;
    const { path } = end;
    const trial = await startTrial({ ...deps, command: [...own.runner, path, ...deps.args] });
    if (trial.kind === 'stopped') return trial.code;
    if (trial.kind === 'registered') {
      const reason = tryInstall(deps, end);
      await trial.end();
      if (reason === null) return replaceProcess([...own.runner, own.path, ...deps.args], deps.env);
      failed = { id: end.id, reason };
    } else failed = { id: end.id, reason: trial.reason };
    if (!end.isInstalled) rmSync(path, { force: true });
  }
}

/** Returns why the program cannot be replaced; null on success. */
function tryInstall({ program: { own }, log }: TurnsDeps, staged: StagedProgram): string | null {
  if (own === null) return null;
  try {
    installProgram(own, staged);
    log(`Installed version ${staged.version} in ${own.path}`);
    return null;
  } catch (cause) {
    return `The program could not be replaced: ${reasonOf(cause)}`;
  }
}
