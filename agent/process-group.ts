import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';

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
  /** SIGTERM to the group, SIGKILL after the grace. */
  stop(graceMs: number): void;
}

export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const lookEveryMs = 50;
const givenUpAfterMs = 5_000;
/** For what a dead group has left in its pipes. */
const pipesReadMs = 2_000;

/** Rejects when the command can't be started: ENOENT, EACCES, ... */
export async function startGroup({ argv, cwd, env }: Command): Promise<ProcessGroup> {
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A session of its own: the group's number is the leader's, and no terminal's Ctrl-C reaches it.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  const pid = child.pid ?? 0;
  let killTimer: NodeJS.Timeout | undefined;
  let gone = false;
  const stop = (graceMs: number): void => {
    // The number of a group that is gone may be another one's by now.
    if (gone || killTimer !== undefined) return;
    signalGroup(pid, 'SIGTERM');
    killTimer = setTimeout(() => signalGroup(pid, 'SIGKILL'), graceMs);
  };
  const exited = untilExit(child).then(async exit => {
    await reapGroup(pid, killTimer === undefined ? 0 : 1_000);
    clearTimeout(killTimer);
    gone = true;
    await untilClosed(child);
    return exit;
  });
  return { pid, stdout: child.stdout, stderr: child.stderr, exited, stop };
}

const untilExit = (child: ChildProcess): Promise<Exit> =>
  new Promise(resolve => child.once('exit', (code, signal) => resolve({ code, signal })));

/** Pipes close when nobody holds their other end any more; a daemon that left the group may hold one for ever. */
async function untilClosed(child: ChildProcess): Promise<void> {
  const streams = [child.stdout, child.stderr];
  const cut = setTimeout(() => streams.forEach(stream => stream?.destroy()), pipesReadMs);
  await Promise.all(streams.map(untilEnd));
  clearTimeout(cut);
}

const untilEnd = (stream: Readable | null): Promise<void> =>
  stream === null || stream.closed || stream.readableEnded
    ? Promise.resolve()
    : new Promise(resolve => stream.once('close', resolve));

/** Children that outlive their leader hold GPU memory: they get a moment to follow it, and are killed then. */
async function reapGroup(pid: number, patienceMs: number): Promise<void> {
  if (!signalGroup(pid, 'SIGTERM')) return;
  await untilGone(pid, patienceMs);
  if (!signalGroup(pid, 'SIGKILL')) return;
  // Where nobody collects orphans (a container without an init) the dead stay listed: not for ever, then.
  await untilGone(pid, givenUpAfterMs);
}

async function untilGone(pid: number, patienceMs: number): Promise<void> {
  const tries = Math.ceil(patienceMs / lookEveryMs);
  for (let n = 0; n < tries && signalGroup(pid, 0); n += 1) await later(lookEveryMs);
}

const later = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** False when nothing is left to be signalled. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, signal);
    return true;
  } catch {
    return false;
  }
}
