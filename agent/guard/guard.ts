import type { Clock } from '../clock.ts';
import { watchFolder } from '../files/folder-watch.ts';
import {
  type Contact,
  type ExitRecord,
  reserveRoom,
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
  /** The maximum size of each of the log's two files. */
  readonly logMaxBytes?: number;
}

const defaultLogMaxBytes = 32 * 1024 * 1024;
const checkEveryMs = 500;
const exitCodes = { done: 0, taken: 4 } as const;

/**
 * Runs a trainer under this process, its guard. The guard owns the log, the process group and the deadline. It writes
 * the exit to disk, so that nothing depends on the agent, and uses no network. Resolves with the exit code when the run
 * is over. Rejects when the folder holds no run to guard.
 */
export async function runGuard(deps: GuardDeps): Promise<number> {
  const { run, processes, pid } = deps;
  const task = readTask(run);
  const self = await processes.identify(pid);
  if (task === null || self === null)
    throw new Error(`${run.path} holds no task: guards are started by the worker alone`);
  if (!takeRun(run, self)) return exitCodes.taken;
  reserveRoom(run);
  await keepExit(await runTask(task, deps), deps);
  return exitCodes.done;
}

const neverRan = { code: null, signal: null, stopped: null, tail: '' } as const;

/** ms until the deadline of a run that must not outlive its contact. */
const leftOf = ({ sentAt, timeoutMs }: Contact, { uptime }: GuardDeps): number =>
  sentAt + timeoutMs - uptime();

async function runTask(task: Task, deps: GuardDeps): Promise<ExitRecord> {
  const { run, clock, logMaxBytes: maxBytes = defaultLogMaxBytes } = deps;
  const asked = listen(deps);
  // The machine may have slept since the claim, and another worker may have taken over the job.
  if (task.onLostContact === 'stop' && leftOf(task.contact, deps) <= 0)
    return { ...neverRan, startError: null, stopped: 'lost_contact' };
  let group: ProcessGroup;
  try {
    group = await startGroup({ ...task, env: deps.env }, deps);
  } catch (cause) {
    return { ...neverRan, startError: startFailure(cause) };
  }
  const disk = createLogDisk({ file: task.logFile, maxBytes, onPlaces: places => writePlaces(run, places) });
  const log = createGuardLog(disk, clock);
  const output = createGuardOutput(log, clock);
  const drained = Promise.all([output.drain(group.stdout), output.drain(group.stderr)]);
  const startError = await introduce(group, deps);
  const stops = watchStops({ task, group, asked }, deps);
  const exit = await group.exited;
  const stopped = stops.end();
  await drained;
  await log.close();
  return { ...exit, stopped, startError, tail: output.tail() };
}

/**
 * Returns a signal that fires on SIGTERM or SIGINT: the machine shuts down, or a person stops the guard. The guard then
 * stops the trainer, without an order of the agent.
 */
function listen({ onSignal }: GuardDeps): AbortSignal {
  const asked = new AbortController();
  onSignal('SIGTERM', () => asked.abort());
  onSignal('SIGINT', () => asked.abort());
  onSignal('SIGHUP', () => {});
  return asked.signal;
}

/**
 * Writes the trainer's identity to disk. If that fails, kills the trainer, because no other process could find it, and
 * returns why. Else returns null.
 */
async function introduce(group: ProcessGroup, { run, processes }: GuardDeps): Promise<string | null> {
  try {
    const trainer = await processes.identify(group.pid);
    // A trainer that has already ended needs no identity: its exit record is enough.
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
  readonly asked: AbortSignal;
}

/** Stops the group when there is a reason to. `end` stops watching, and returns why the group was stopped. */
function watchStops({ task, group, asked }: Watched, deps: GuardDeps): { end(): ExitRecord['stopped'] } {
  const { run, clock } = deps;
  let stopped: ExitRecord['stopped'] = null;
  let { contact } = task;
  let takeBack = (): void => {};
  const stop = (why: ExitRecord['stopped'], graceMs: number): void => {
    stopped ??= why;
    group.stop(graceMs);
  };
  /** This has its own timer, because reading files may have to wait for a disk. */
  const checkContact = (): void => {
    const leftMs = leftOf(contact, deps);
    // If the machine slept, the grace period may be over, too.
    if (leftMs <= 0) stop('lost_contact', Math.max(0, contact.graceMs + leftMs));
    else takeBack = clock.after(Math.min(leftMs, checkEveryMs), checkContact);
  };
  if (task.onLostContact === 'stop') checkContact();
  const check = async (): Promise<void> => {
    const order = await readStop(run);
    if (order !== null) stop(order.order, order.graceMs);
    const newer = await readContact(run);
    if (newer !== null && newer.sentAt > contact.sentAt) contact = newer;
    // Without its folder, nothing can stop the run or learn how it ended.
    if (isRemoved(run)) stop('abandon', contact.graceMs);
  };
  const unwatch = watchFolder({ folder: run.path, check, everyMs: checkEveryMs, clock });
  const passOn = (): void => stop(null, contact.graceMs);
  if (asked.aborted) passOn();
  asked.addEventListener('abort', passOn);
  return {
    end() {
      unwatch();
      takeBack();
      return stopped;
    },
  };
}

/** Retries until the exit is on disk. On a full disk, only the guard knows how the run ended. */
async function keepExit(exit: ExitRecord, { run, clock }: GuardDeps): Promise<void> {
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
