import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock, Log } from '../orchestrator/ports/index.ts';
import { makeFolder } from './data-folder.ts';
import {
  agentEnvironment,
  agentFile,
  type Ending,
  type LocalWorkerSettings,
  planRestart,
} from './local-worker-plan.ts';

/** The program of the agent on this machine. A server and the packaged app use different programs. */
export interface AgentProgram {
  /** Command line up to and including the `worker` subcommand, if the program has one. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LocalWorkerDeps {
  readonly program: AgentProgram;
  readonly settings: LocalWorkerSettings;
  /** Restricted config keys that jobs on this machine may use, although such a key affects more than the job; null for none. */
  readonly allowConfigScripts: string | null;
  /** Folder for the agent's state, jobs and config file. Created when missing. */
  readonly folder: string;
  /** URL at which the orchestrator listens. */
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Creates the worker if needed and issues a new token. May reject, for example on a full disk. */
  readonly issue: () => Promise<{ readonly name: string; readonly token: string }>;
}

export interface LocalWorker {
  /** Stops the agent quickly. Its training continues, and the next agent adopts it. */
  stop(): Promise<void>;
  /** Stops the agent after its job. Takes as long as the job. */
  retire(): Promise<void>;
}

/** After this many milliseconds, the agent is killed. The training does not depend on the agent. */
const leaveWithinMs = 700;
/** Maximum length of a line of the agent's output in the log, in characters. */
const maxLine = 2_000;

/**
 * Runs an agent on this machine as a child process. A pipe to the agent's stdin connects both processes: when this process ends
 * for any reason, the pipe closes and the agent exits (`--leave-with-parent`). The guard process continues the training, and the
 * next agent adopts it.
 *
 * Each start of this process issues a new token, which is only kept in memory. A token in a file would be another secret on disk,
 * and would be wrong after a restore of the database. A new token also locks out an agent of a killed orchestrator that is still
 * running.
 */
export function startLocalWorker(deps: LocalWorkerDeps): LocalWorker {
  const controller = new AbortController();
  const retired = new AbortController();
  const running = keepRunning(deps, {
    over: controller.signal,
    retired: retired.signal,
    ended: AbortSignal.any([controller.signal, retired.signal]),
  });
  return {
    stop() {
      controller.abort();
      return running;
    },
    retire() {
      retired.abort();
      return running;
    },
  };
}

interface StopSignals {
  /** Aborted when the agent must exit immediately. */
  readonly over: AbortSignal;
  /** Aborted when the agent must exit after its job. */
  readonly retired: AbortSignal;
  /** Aborted with either of the two. */
  readonly ended: AbortSignal;
}

type Issued = Awaited<ReturnType<LocalWorkerDeps['issue']>>;

async function keepRunning(deps: LocalWorkerDeps, stopSignals: StopSignals): Promise<void> {
  const { ended } = stopSignals;
  const { clock, log, issue } = deps;
  let issued: Issued | null = null;
  let failures = 0;
  while (!ended.aborted) {
    let ending: Ending = { code: null, livedMs: 0 };
    try {
      issued ??= await issue();
      // A stop may have been requested while the token was issued.
      if (ended.aborted) return;
      ending = await runAgent(deps, issued, stopSignals);
    } catch (cause) {
      log.error('local_worker.not_started', { cause });
    }
    if (ended.aborted) return;
    const restart = planRestart(ending, failures);
    failures = restart.failures;
    if (restart.needsToken) issued = null;
    log.info('local_worker.starts_again', { in_s: restart.inMs / 1000 });
    await pause(clock, restart.inMs, ended);
  }
}

/** Runs one agent process. Resolves when it ends; rejects when it cannot start. */
async function runAgent(deps: LocalWorkerDeps, issued: Issued, stopSignals: StopSignals): Promise<Ending> {
  const { clock, log, program } = deps;
  const [file = '', ...args] = program.command;
  const settingsFile = writeSettings(deps, issued.name);
  const startedAt = clock.mono();
  const child = spawn(file, [...args, '--config', settingsFile], {
    env: agentEnvironment(program.env, issued.token),
    stdio: ['pipe', 'pipe', 'pipe'],
    // The agent gets its own session, so that Ctrl-C in a terminal reaches only the orchestrator. On Windows, `detached` would
    // open a window.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  // Ignores EPIPE, which occurs when the agent has exited and its stdin is closed.
  child.stdin.on('error', () => {});
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', line =>
      log.info('local_worker.said', { line: line.slice(0, maxLine) }),
    );
  }
  child.once('spawn', () => log.info('local_worker.started', { pid: child.pid }));
  const { code, signal } = await endOf(child, clock, stopSignals);
  const livedMs = clock.mono() - startedAt;
  const isExpected = stopSignals.ended.aborted || code === 0;
  const logEnd = isExpected ? log.info : log.warn;
  logEnd('local_worker.ended', { exit_code: code, signal, lived_s: Math.round(livedMs / 1000) });
  return { code, livedMs };
}

interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Waits until the process ends. Stops it when `over` or `retired` is aborted. */
async function endOf(
  child: ChildProcessWithoutNullStreams,
  clock: Clock,
  { over, retired }: StopSignals,
): Promise<ProcessEnd> {
  let cancelTimer = (): void => {};
  const leave = (): void => {
    child.stdin.end();
    cancelTimer = clock.after(leaveWithinMs, () => child.kill('SIGKILL'));
  };
  const retire = (): void => void child.kill('SIGTERM');
  try {
    return await new Promise<ProcessEnd>((resolved, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolved({ code, signal }));
      if (over.aborted) leave();
      else over.addEventListener('abort', leave, { once: true });
      if (retired.aborted) retire();
      else retired.addEventListener('abort', retire, { once: true });
    });
  } finally {
    over.removeEventListener('abort', leave);
    retired.removeEventListener('abort', retire);
    cancelTimer();
  }
}

/**
 * Writes the agent's config file atomically. The user's own config file may belong to another worker on this machine, so it is
 * not used.
 */
function writeSettings({ folder, settings, url, allowConfigScripts }: LocalWorkerDeps, name: string): string {
  makeFolder(folder);
  const file = join(folder, 'worker.json');
  const unfinished = `${file}.new`;
  const location = { url, name, stateDir: resolve(folder), allowConfigScripts };
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify(agentFile(settings, location), null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  renameSync(unfinished, file);
  return file;
}

/** Resolves after the delay, or earlier when the signal is aborted. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolved => {
    const done = (): void => {
      cancelTimer();
      signal.removeEventListener('abort', done);
      resolved();
    };
    const cancelTimer = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
