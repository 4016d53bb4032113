import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pause } from '../retry/retry.ts';
import type { Clock } from '../clock.ts';
import type { ProcessRef, Processes } from './processes.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A command and all processes that it starts. They are stopped as a whole, and the run ends when all have ended. */
export interface ProcessGroup {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves with the exit of the leader, after the whole group has ended and its output has been read. */
  readonly exited: Promise<Exit>;
  /** Sends SIGTERM to the group, and SIGKILL after the grace period. Only the first call has an effect. */
  stop(graceMs: number): void;
}

export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface GroupDeps {
  readonly processes: Processes;
  readonly clock: Clock;
}

const checkEveryMs = 50;
/** Grace period in ms for child processes whose leader has ended by itself. */
const orphanGraceMs = 1_000;
/** The timeout in ms after SIGKILL. It is necessary because a process that hangs in a driver cannot be killed. */
const waitAfterKillMs = 5_000;
/** The timeout in ms for reading the output that an ended group has left in its pipes. */
const pipesReadMs = 5_000;

/** Starts a command. Rejects when it cannot be started (ENOENT, EACCES, ...). */
export async function startGroup(command: Command, { processes, clock }: GroupDeps): Promise<ProcessGroup> {
  const [file = '', ...args] = command.argv;
  const child = spawn(file, args, {
    cwd: command.cwd,
    env: { ...command.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...processes.asLeader,
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  const pid = child.pid ?? 0;
  let killAt: number | null = null;
  let cancelTimer = (): void => {};
  let hasEnded = false;
  const stop = (graceMs: number): void => {
    // After a group has ended, the system may reuse its id for another group.
    if (hasEnded || killAt !== null) return;
    killAt = clock.mono() + graceMs;
    void processes.signalGroup(pid, 'SIGTERM');
    cancelTimer = clock.after(graceMs, () => void processes.signalGroup(pid, 'SIGKILL'));
  };
  const lives = (): Promise<boolean> => processes.groupLives(pid);
  const exited = untilExit(child).then(async exit => {
    // Children that outlive their leader occupy GPU memory. They get a short grace period, unless an earlier `stop`
    // gave them a longer one.
    if (await lives()) stop(orphanGraceMs);
    await untilGone(lives, pid, killAt ?? 0, { processes, clock });
    hasEnded = true;
    cancelTimer();
    await untilClosed(child, clock);
    return exit;
  });
  return { pid, stdout: child.stdout, stderr: child.stderr, exited, stop };
}

const never = new AbortController().signal;

/**
 * Waits until the group has ended, and sends SIGKILL after `killAt`. Resolves at the latest `waitAfterKillMs` after
 * that.
 */
async function untilGone(
  lives: () => Promise<boolean>,
  pid: number,
  killAt: number,
  { processes, clock }: GroupDeps,
): Promise<void> {
  while (await lives()) {
    const lateMs = clock.mono() - killAt;
    if (lateMs > waitAfterKillMs) return;
    if (lateMs > 0) await processes.signalGroup(pid, 'SIGKILL');
    await pause(clock, checkEveryMs, never);
  }
}

/** Ends the rest of a group that has no guard. Does nothing if the group's id now belongs to another group. */
export async function endGroup(leader: ProcessRef, graceMs: number, deps: GroupDeps): Promise<void> {
  const lives = (): Promise<boolean> => deps.processes.ownsGroup(leader);
  if (!(await lives())) return;
  await deps.processes.signalGroup(leader.pid, 'SIGTERM');
  await untilGone(lives, leader.pid, deps.clock.mono() + graceMs, deps);
}

const untilExit = (child: ChildProcess): Promise<Exit> =>
  new Promise(resolve => child.once('exit', (code, signal) => resolve({ code, signal })));

/** Waits until the pipes close. A daemon that left the group may keep its end open forever, so the wait is limited. */
async function untilClosed(child: ChildProcess, clock: Clock): Promise<void> {
  const streams = [child.stdout, child.stderr];
  const cancelTimer = clock.after(pipesReadMs, () => streams.forEach(stream => stream?.destroy()));
  await Promise.all(streams.map(untilEnd));
  cancelTimer();
}

const untilEnd = (stream: Readable | null): Promise<void> =>
  stream === null || stream.closed || stream.readableEnded
    ? Promise.resolve()
    : new Promise(resolve => stream.once('close', resolve));
