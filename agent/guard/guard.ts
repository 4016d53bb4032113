import type { Clock } from '../clock.ts';
import { watchFolder } from '../files/folder-watch.ts';
import {
  type Contact,
  type ExitRecord,
  reserveSpace,
  isRemoved,
  readContact,
  readStop,
  readTask,
  type RunFolder,
  takeRun,
  type Task,
  writeExit,
  writePlaces,
  writeTrainer,
} from './guard-files.ts';
import { createGuardLog, createGuardOutput } from './guard-log.ts';
import { createLogDisk } from './log-disk.ts';
import { type ProcessGroup, startGroup } from '../process/process-group.ts';
import type { Processes } from '../process/processes.ts';
import { startFailure } from '../files/failure-text.ts';
import { retry, type RetryAnswer } from '../retry/retry.ts';
import { waits } from '../retry/decisions.ts';

export interface GuardDeps {
  readonly run: RunFolder;
  /** The guard's own environment, which is also the trainer's. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly processes: Processes;
  readonly clock: Clock;
  /** ms on a clock that the guard shares with the agent. */
  readonly uptime: () => number;
  readonly onSignal: (signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', act: () => void) => void;
  /** The maximum size of each of the log's two files, in bytes. */
  readonly logMaxBytes?: number;
}

const defaultLogMaxBytes = 32 * 1024 * 1024;
const checkEveryMs = 500;
const exitCodes = { done: 0, taken: 4 } as const;

/**
 * Runs a trainer under this process, its guard. The guard owns the log, the process group and the deadline. It writes
 * the exit record to disk and uses no network, so that it does not depend on the agent. Resolves with the exit code of
 * the guard when the run has ended. Rejects when the folder contains no task.
 */
export async function runGuard(deps: GuardDeps): Promise<number> {
  const { run, processes, pid } = deps;
  const task = readTask(run);
  const self = await processes.identify(pid);
  if (task === null || self === null)
    throw new Error(`${run.path} contains no task: only the worker starts guards`);
  if (!takeRun(run, self)) return exitCodes.taken;
  reserveSpace(run);
  await writeExitWithRetries(await runTask(task, deps), deps);
  return exitCodes.done;
}

const neverRan = { code: null, signal: null, stopped: null, tail: '' } as const;

/** Returns the ms until a run with `on_lost_contact: stop` must end. Negative when the deadline has passed. */
const msUntilDeadline = ({ sentAt, timeoutMs }: Contact, { uptime }: GuardDeps): number =>
  sentAt + timeoutMs - uptime();

async function runTask(task: Task, deps: GuardDeps): Promise<ExitRecord> {
  const { run, clock, logMaxBytes: maxBytes = defaultLogMaxBytes } = deps;
  const stopSignal = onStopSignal(deps);
  // The machine may have slept since the claim, and another worker may have taken over the job.
  if (task.onLostContact === 'stop' && msUntilDeadline(task.contact, deps) <= 0)
    return { ...neverRan, startError: null, stopped: 'lost_contact' };
  let group: ProcessGroup;
  deps.processes.holdDescendants();
  try {
    group = await startGroup({ ...task, env: deps.env }, deps);
  } catch (cause) {
    return { ...neverRan, startError: startFailure(cause) };
  }
  const disk = createLogDisk({ file: task.logFile, maxBytes, onPlaces: places => writePlaces(run, places) });
  const log = createGuardLog(disk, clock);
  const output = createGuardOutput(log, clock);
  const drained = Promise.all([output.drain(group.stdout), output.drain(group.stderr)]);
  const startError = await recordTrainer(group, deps);
  const stops = watchStops({ task, group, stopSignal }, deps);
  const exit = await group.exited;
  const stopped = stops.end();
  await drained;
  await log.close();
  return { ...exit, stopped, startError, tail: output.tail() };
}

/**
 * Returns a signal that fires on SIGTERM or SIGINT, for example when the machine shuts down. The guard then stops the
 * trainer without waiting for the agent.
 */
function onStopSignal({ onSignal }: GuardDeps): AbortSignal {
  const controller = new AbortController();
  onSignal('SIGTERM', () => controller.abort());
  onSignal('SIGINT', () => controller.abort());
  onSignal('SIGHUP', () => {});
  return controller.signal;
}

/**
 * Writes the trainer's identity to disk. Returns null on success. On failure, kills the trainer, because no other
 * process could find it, and returns the reason.
 */
async function recordTrainer(group: ProcessGroup, { run, processes }: GuardDeps): Promise<string | null> {
  try {
    const trainer = await processes.identify(group.pid);
    // A trainer that has already ended needs no identity, because its exit record follows.
    if (trainer !== null) writeTrainer(run, trainer);
    return null;
  } catch (cause) {
    group.stop(0);
    return startFailure(cause);
  }
}

interface Watched {
  readonly task: Task;
  readonly group: ProcessGroup;
  /** Fires when the guard itself receives a signal to stop. */
  readonly stopSignal: AbortSignal;
}

/** Stops the group on an order, a signal or lost contact. `end` stops watching, and returns why the group was stopped. */
function watchStops({ task, group, stopSignal }: Watched, deps: GuardDeps): { end(): ExitRecord['stopped'] } {
  const { run, clock } = deps;
  let stopped: ExitRecord['stopped'] = null;
  let { contact } = task;
  let cancelTimer = (): void => {};
  const stop = (why: ExitRecord['stopped'], graceMs: number): void => {
    stopped ??= why;
    group.stop(graceMs);
  };
  /** Stops the group at the deadline. The deadline has its own timer, because a slow disk can delay the check of the files. */
  const checkContact = (): void => {
    const leftMs = msUntilDeadline(contact, deps);
    // If the machine slept, the grace period may be over, too.
    if (leftMs <= 0) stop('lost_contact', Math.max(0, contact.graceMs + leftMs));
    else cancelTimer = clock.after(Math.min(leftMs, checkEveryMs), checkContact);
  };
  if (task.onLostContact === 'stop') checkContact();
  const check = async (): Promise<void> => {
    const order = await readStop(run);
    if (order !== null) stop(order.order, order.graceMs);
    const newer = await readContact(run);
    if (newer !== null && newer.sentAt > contact.sentAt) contact = newer;
    // Without the folder, no order can reach the guard, and nobody can read the exit record.
    if (isRemoved(run)) stop('abandon', contact.graceMs);
  };
  const unwatch = watchFolder({ folder: run.path, check, everyMs: checkEveryMs, clock });
  const stopForSignal = (): void => stop(null, contact.graceMs);
  if (stopSignal.aborted) stopForSignal();
  stopSignal.addEventListener('abort', stopForSignal);
  return {
    end() {
      unwatch();
      cancelTimer();
      return stopped;
    },
  };
}

/** Retries until the exit record is on disk. Until then, only this process knows how the run ended. */
async function writeExitWithRetries(exit: ExitRecord, { run, clock }: GuardDeps): Promise<void> {
  const write = async (): Promise<RetryAnswer<void, unknown>> => {
    try {
      if (!isRemoved(run)) writeExit(run, exit);
      return { ok: true, value: undefined };
    } catch (cause) {
      return { ok: false, failure: cause };
    }
  };
  const signal = new AbortController().signal;
  await retry(write, { clock, random: Math.random, signal, waits: waits.exitRecord, decide: () => 'retry' });
}
