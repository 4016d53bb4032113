import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { ProcessRef, Processes } from './processes.ts';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A command with everything that it starts: one process group, stopped and awaited as a whole. */
export interface ProcessGroup {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** The leader's end; by then nothing of its group is left, and its output has been read. */
  readonly exited: Promise<Exit>;
  /** SIGTERM to the group, SIGKILL after the grace. The first stop counts. */
  stop(graceMs: number): void;
}

export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface GroupParts {
  readonly processes: Processes;
  readonly clock: Clock;
}

const lookEveryMs = 50;
/** For children whose leader ended by itself. */
const followMs = 1_000;
/** Nobody survives SIGKILL for longer but who is stuck in a driver, and for that one nobody waits for ever. */
const givenUpAfterMs = 5_000;
/** For what a dead group has left in its pipes. */
const pipesReadMs = 5_000;

/** Rejects when the command can't be started: ENOENT, EACCES, ... */
export async function startGroup(command: Command, { processes, clock }: GroupParts): Promise<ProcessGroup> {
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
  let takeBack = (): void => {};
  let gone = false;
  const stop = (graceMs: number): void => {
    // The number of a group that is gone may be another one's by now.
    if (gone || killAt !== null) return;
    killAt = clock.mono() + graceMs;
    void processes.signalGroup(pid, 'SIGTERM');
    takeBack = clock.after(graceMs, () => void processes.signalGroup(pid, 'SIGKILL'));
  };
  const lives = (): Promise<boolean> => processes.groupLives(pid);
  const exited = untilExit(child).then(async exit => {
    // Children that outlive their leader hold GPU memory: unless a stop gave them longer, they get a moment to follow.
    if (await lives()) stop(followMs);
    await untilGone(lives, pid, killAt ?? 0, { processes, clock });
    gone = true;
    takeBack();
    await untilClosed(child, clock);
    return exit;
  });
  return { pid, stdout: child.stdout, stderr: child.stderr, exited, stop };
}

const never = new AbortController().signal;

/** ... or given up: then all that could be done was done. */
async function untilGone(
  lives: () => Promise<boolean>,
  pid: number,
  killAt: number,
  { processes, clock }: GroupParts,
): Promise<void> {
  while (await lives()) {
    const lateMs = clock.mono() - killAt;
    if (lateMs > givenUpAfterMs) return;
    if (lateMs > 0) await processes.signalGroup(pid, 'SIGKILL');
    await pause(clock, lookEveryMs, never);
  }
}

/** Ends what is left of a group that nobody holds any more. A number that is another one's by now is left alone. */
export async function endGroup(leader: ProcessRef, graceMs: number, parts: GroupParts): Promise<void> {
  const lives = (): Promise<boolean> => parts.processes.ownsGroup(leader);
  if (!(await lives())) return;
  await parts.processes.signalGroup(leader.pid, 'SIGTERM');
  await untilGone(lives, leader.pid, parts.clock.mono() + graceMs, parts);
}

const untilExit = (child: ChildProcess): Promise<Exit> =>
  new Promise(resolve => child.once('exit', (code, signal) => resolve({ code, signal })));

/** Pipes close when nobody holds their other end any more; a daemon that left the group may hold one for ever. */
async function untilClosed(child: ChildProcess, clock: Clock): Promise<void> {
  const streams = [child.stdout, child.stderr];
  const takeBack = clock.after(pipesReadMs, () => streams.forEach(stream => stream?.destroy()));
  await Promise.all(streams.map(untilEnd));
  takeBack();
}

const untilEnd = (stream: Readable | null): Promise<void> =>
  stream === null || stream.closed || stream.readableEnded
    ? Promise.resolve()
    : new Promise(resolve => stream.once('close', resolve));
