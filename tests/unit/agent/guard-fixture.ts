import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../agent/clock.ts';
import { runGuard } from '../../../agent/guard/guard.ts';
import {
  type ExitRecord,
  readExit,
  type RunFolder,
  type Task,
  writeStop,
  writeTask,
} from '../../../agent/guard/guard-files.ts';
import { ownProcesses } from '../../../agent/process/own-processes.ts';
import { attendRun, type Run } from '../../../agent/attempt/run.ts';
import type { RunListeners } from '../../../agent/attempt/run-follow.ts';
import type { PreparedJob } from '../../../agent/job.ts';
import type { Progress } from '../../../protocol/reports.ts';
import { attemptId, jobId, tempFolder } from './builders.ts';

export const processes = ownProcesses(process.env);
export const launchDeps = {
  ownCommand: [process.execPath, join(import.meta.dirname, '../../../agent/main.ts')],
  processes,
  clock: systemClock,
};

export const taskOf = (job: PreparedJob, overrides: Partial<Task> = {}): Task => ({
  jobId: jobId('j1'),
  attemptId: attemptId('a1'),
  configName: 'sample',
  argv: job.argv,
  cwd: job.cwd,
  logFile: job.logFile,
  onLostContact: 'continue',
  contact: { sentAt: 0, timeoutMs: 120_000, graceMs: 30_000 },
  ...overrides,
});

export type GuardSignal = 'SIGTERM' | 'SIGINT' | 'SIGHUP';

export interface InProcessGuard {
  readonly run: RunFolder;
  /** Resolves with the guard's exit code when the run has ended. */
  readonly done: Promise<number>;
  exit(): Promise<ExitRecord>;
  signal(name: GuardSignal): void;
  /** Follows the run like the agent that started this guard. */
  attend(listeners?: {
    readonly onLine?: (line: string) => void;
    readonly onProgress?: (p: Progress) => void;
    readonly onFigures?: RunListeners['onFigures'];
    readonly onLink?: RunListeners['onLink'];
  }): Run;
}

export interface GuardOptions {
  readonly task?: Partial<Task>;
  readonly uptime?: () => number;
  readonly logMaxBytes?: number;
  readonly run?: RunFolder;
}

/** Runs a guard inside the process of the test. Its trainer is a real process. */
export function startGuardInProcess(job: PreparedJob, options: GuardOptions = {}): InProcessGuard {
  const run = options.run ?? { path: join(tempFolder(), 'a1') };
  mkdirSync(run.path, { recursive: true, mode: 0o700 });
  const signalHandlers = new Map<GuardSignal, () => void>();
  const task = taskOf(job, options.task);
  if (!existsSync(join(run.path, 'task.json'))) writeTask(run, task);
  const { uptime = () => 0, logMaxBytes } = options;
  const done = runGuard({
    run,
    env: job.env,
    pid: process.pid,
    processes,
    clock: systemClock,
    uptime,
    onSignal: (name, handler) => void signalHandlers.set(name, handler),
    ...(logMaxBytes !== undefined && { logMaxBytes }),
  });
  onTestFinished(async () => {
    if (existsSync(run.path)) writeStop(run, { order: 'abandon', graceMs: 0 });
    await done;
    rmSync(run.path, { recursive: true, force: true });
  });
  return {
    run,
    done,
    signal: name => signalHandlers.get(name)?.(),
    async exit() {
      await done;
      const exit = readExit(run);
      if (exit === null) throw new Error('there is no exit record');
      return exit;
    },
    attend({ onLine = () => {}, onProgress = () => {}, onFigures = () => {}, onLink = () => {} } = {}) {
      const guard = { pid: process.pid, start: 'here' };
      const deps = { ...launchDeps, processes: { ...processes, identify: async () => guard } };
      const guardedRun = { run, guarded: { guard, trainer: null }, logFile: job.logFile, isAdopted: false };
      return attendRun(guardedRun, { onLine, onProgress, onFigures, onLink }, deps);
    },
  };
}

export interface RunResult {
  readonly exit: ExitRecord;
  readonly lines: readonly string[];
  readonly progress: readonly Progress[];
}

/** Runs a job to its end under a guard. Returns the exit record, the output lines and the progress. */
export async function runToEnd(job: PreparedJob, options: GuardOptions = {}): Promise<RunResult> {
  const lines: string[] = [];
  const progress: Progress[] = [];
  const { attend } = startGuardInProcess(job, options);
  const { finished } = attend({
    onLine: line => lines.push(line),
    onProgress: figures => progress.push(figures),
  });
  const exit = await finished;
  if (exit === null) throw new Error('the guard ended without an exit record');
  return { exit, lines, progress };
}
