import type { RequestSignal } from '../../protocol/requests.ts';
import type { Fields } from '../files/whole-file.ts';

/** Identifies a process. `start` distinguishes the process from a later process with the same pid. */
export interface ProcessRef {
  readonly pid: number;
  /** Start time in a format of the platform. Use it only for comparison. */
  readonly start: string;
}

/** All process functions that differ between platforms. A group is a command and all processes that it has started. */
export interface Processes {
  /** Returns null when there is no such process, or only a zombie. Rejects when the system cannot be queried. */
  identify(pid: number): Promise<ProcessRef | null>;
  /** Spawn options for the leader of a group that can be signalled as a whole. */
  readonly asLeader: GroupOptions;
  /** Spawn options for a process that must outlive this process and its terminal. */
  readonly asSurvivor: GroupOptions;
  /**
   * Call before this process starts a group, so that this process can find all members of the group later. Does nothing
   * on Unix, where the id of the group is enough.
   */
  holdDescendants(): void;
  /** Terminates the whole group: with SIGTERM, processes can still clean up. */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Signals only this process, not the others in its group. */
  signal(process: ProcessRef, signal: RequestSignal): Promise<Signalled>;
  /** Whether any process of the group is alive. */
  groupLives(leaderPid: number): Promise<boolean>;
  /** Whether this leader, which may have ended, started the group with its pid. False after the pid was reused. */
  ownsGroup(leader: ProcessRef): Promise<boolean>;
}

/**
 * `unheard`: not sent, because the process does not handle the signal and would be terminated by it. Platforms that cannot
 * check this send the signal anyway. `unable`: the platform has no signals.
 */
export type Signalled = 'sent' | 'gone' | 'unheard' | 'unable';

export interface GroupOptions {
  readonly detached: boolean;
  readonly windowsHide: true;
}

/** Whether this process still runs. A later process with the same pid does not count. */
export async function isRunning(processes: Processes, ref: ProcessRef): Promise<boolean> {
  const current = await processes.identify(ref.pid);
  return current !== null && current.start === ref.start;
}

/** Parses a reference that was read from a file. Returns null when it is invalid. */
export function refOf(fields: Fields | null): ProcessRef | null {
  const { pid, start } = fields ?? {};
  const isPid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0;
  return isPid && typeof start === 'string' && start !== '' ? { pid, start } : null;
}
