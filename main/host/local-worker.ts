import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock, Log } from '../orchestrator/ports.ts';
import { makeFolder } from './data-folder.ts';
import {
  agentEnvironment,
  agentFile,
  type Ending,
  type LocalWorkerSettings,
  planRestart,
} from './local-worker-plan.ts';

/** How an agent is started on this machine: a server and a packaged app bring other programs. */
export interface AgentProgram {
  /** Up to and including its `worker` command, if it has one. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface LocalWorkerParts {
  readonly program: AgentProgram;
  readonly settings: LocalWorkerSettings;
  /** Config keys that jobs may use here although they reach beyond the job; null for none. */
  readonly allowConfigScripts: string | null;
  /** For the agent's state, its jobs and its config file; made if it is not there. */
  readonly folder: string;
  /** Where the orchestrator really listens. */
  readonly url: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Makes the worker if there is none, and gives it a new token; may reject, as on a full disk. */
  readonly issue: () => Promise<{ readonly name: string; readonly token: string }>;
}

export interface LocalWorker {
  /** Has the agent leave; what it trains goes on, for the agent of the next start. Never takes long. */
  stop(): Promise<void>;
  /** Has the agent leave when its job is done; it is not started again. Takes as long as the job does. */
  retire(): Promise<void>;
}

/** After this long the agent is killed: its training does not depend on it. */
const leaveWithinMs = 700;
const longestLine = 2_000;

/**
 * Keeps an agent on this machine as a child process. The pipe to its stdin holds the two together: when this process
 * ends, in whatever way, the pipe ends with it, and the agent leaves (`--leave-with-parent`). What it trains goes on under
 * its guard, and the agent of the next start adopts it.
 *
 * Its token is new with each start of this process, and only in memory: one kept in a file would be one more secret on the
 * disk, and would not fit a database that was restored from a backup. It also shuts out an agent that a killed
 * orchestrator has left and that has not noticed yet.
 */
export function startLocalWorker(parts: LocalWorkerParts): LocalWorker {
  const over = new AbortController();
  const retired = new AbortController();
  const kept = keepRunning(parts, {
    over: over.signal,
    retired: retired.signal,
    ended: AbortSignal.any([over.signal, retired.signal]),
  });
  return {
    stop() {
      over.abort();
      return kept;
    },
    retire() {
      retired.abort();
      return kept;
    },
  };
}

interface Orders {
  /** To leave at once. */
  readonly over: AbortSignal;
  /** To leave when the job is done. */
  readonly retired: AbortSignal;
  /** Either. */
  readonly ended: AbortSignal;
}

type Issued = Awaited<ReturnType<LocalWorkerParts['issue']>>;

async function keepRunning(parts: LocalWorkerParts, orders: Orders): Promise<void> {
  const { ended } = orders;
  const { clock, log, issue } = parts;
  let issued: Issued | null = null;
  let failures = 0;
  while (!ended.aborted) {
    let ending: Ending = { code: null, livedMs: 0 };
    try {
      issued ??= await issue();
      // Asked to stop while it waited for the disk.
      if (ended.aborted) return;
      ending = await runAgent(parts, issued, orders);
    } catch (cause) {
      log.error('local_worker.not_started', { cause });
    }
    if (ended.aborted) return;
    const sequel = planRestart(ending, failures);
    failures = sequel.failures;
    if (sequel.needsToken) issued = null;
    log.info('local_worker.starts_again', { in_s: sequel.inMs / 1000 });
    await pause(clock, sequel.inMs, ended);
  }
}

/** From its start to its end. Rejects when it could not be started. */
async function runAgent(parts: LocalWorkerParts, issued: Issued, orders: Orders): Promise<Ending> {
  const { clock, log, program } = parts;
  const [file = '', ...args] = program.command;
  const settingsFile = writeSettings(parts, issued.name);
  const begunAt = clock.mono();
  const child = spawn(file, [...args, '--config', settingsFile], {
    env: agentEnvironment(program.env, issued.token),
    stdio: ['pipe', 'pipe', 'pipe'],
    // A session of its own, so that Ctrl-C in a terminal reaches the orchestrator alone; Windows would open a window.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  // An agent that has ended takes no end of its input any more.
  child.stdin.on('error', () => {});
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', line =>
      log.info('local_worker.said', { line: line.slice(0, longestLine) }),
    );
  }
  child.once('spawn', () => log.info('local_worker.started', { pid: child.pid }));
  const { code, signal } = await endOf(child, clock, orders);
  const livedMs = clock.mono() - begunAt;
  const wasAsked = orders.ended.aborted || code === 0;
  const tell = wasAsked ? log.info : log.warn;
  tell('local_worker.ended', { exit_code: code, signal, lived_s: Math.round(livedMs / 1000) });
  return { code, livedMs };
}

interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Waits for its end, and brings that about when all is over. */
async function endOf(
  child: ChildProcessWithoutNullStreams,
  clock: Clock,
  { over, retired }: Orders,
): Promise<ProcessEnd> {
  let takeBack = (): void => {};
  const leave = (): void => {
    child.stdin.end();
    takeBack = clock.after(leaveWithinMs, () => child.kill('SIGKILL'));
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
    takeBack();
  }
}

/** A file of its own, whole at any time: that of the user may be meant for another worker on this machine. */
function writeSettings(
  { folder, settings, url, allowConfigScripts }: LocalWorkerParts,
  name: string,
): string {
  makeFolder(folder);
  const file = join(folder, 'worker.json');
  const unfinished = `${file}.new`;
  const place = { url, name, stateDir: resolve(folder), allowConfigScripts };
  rmSync(unfinished, { force: true });
  writeFileSync(unfinished, `${JSON.stringify(agentFile(settings, place), null, 2)}\n`, {
    mode: 0o600,
    flag: 'wx',
  });
  renameSync(unfinished, file);
  return file;
}

/** Shorter when the signal fires. */
function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolved => {
    const done = (): void => {
      takeBack();
      signal.removeEventListener('abort', done);
      resolved();
    };
    const takeBack = clock.after(ms, done);
    signal.addEventListener('abort', done, { once: true });
  });
}
