import type { RequestSignal } from '../../protocol/requests.ts';
import type { Fields } from '../files/whole-file.ts';

/** Identifies a process. `start` distinguishes it from a later one with the same pid. */
export interface ProcessRef {
  readonly pid: number;
  /** Start time in the format of this platform; use it only for comparison. */
  readonly start: string;
}

/** All process functions that differ between platforms. A group is a command and all processes that it has started. */
export interface Processes {
  /** Returns null when there is no such process; zombies count as none. Rejects when the system does not answer, which is not an end. */
  identify(pid: number): Promise<ProcessRef | null>;
  /** Spawn options for the leader of a group that can be signalled as a whole. */
  readonly asLeader: GroupOptions;
  /** Spawn options for a process that must outlive this process and its terminal. */
  readonly asSurvivor: GroupOptions;
  /** Asks the whole group to end (SIGTERM), or ends it (SIGKILL). */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Signals this process only, and not the others in its group. */
  signal(process: ProcessRef, signal: RequestSignal): Promise<Signalled>;
  groupLives(leaderPid: number): Promise<boolean>;
  /** Whether the group with this leader's number is still this leader's. A group can outlive its leader. */
  ownsGroup(leader: ProcessRef): Promise<boolean>;
}

/**
 * `unheard`: not sent, because the process does not handle the signal and would end. A platform that cannot check this sends it.
 * `unable`: the platform has no signals.
 */
export type Signalled = 'sent' | 'gone' | 'unheard' | 'unable';

export interface GroupOptions {
  readonly detached: boolean;
  readonly windowsHide: true;
}

/** Whether this process still runs, and not a later one with the same pid. */
export async function isRunning(processes: Processes, ref: ProcessRef): Promise<boolean> {
  const now = await processes.identify(ref.pid);
  return now !== null && now.start === ref.start;
}

/** Parses a reference that was read from a file. Returns null when it is invalid. */
export function refOf(fields: Fields | null): ProcessRef | null {
  const { pid, start } = fields ?? {};
  const isPid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0;
  return isPid && typeof start === 'string' && start !== '' ? { pid, start } : null;
}
