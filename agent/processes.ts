import type { RequestSignal } from '../protocol/requests.ts';
import type { Fields } from './whole-file.ts';

/** A process, told apart from a later one that was given the same number. */
export interface ProcessRef {
  readonly pid: number;
  /** When it was started, as this machine writes it; only good for comparing. */
  readonly start: string;
}

/** Everything that platforms do differently with processes. A group is a command with all that it has started. */
export interface Processes {
  /**
   * Null when there is none; the dead whom nobody has collected count as none. Rejects when the machine did not answer:
   * that must not be taken for an end.
   */
  identify(pid: number): Promise<ProcessRef | null>;
  /** How to spawn what leads a group that can be signalled as one. */
  readonly asLeader: SpawnLook;
  /** How to spawn what is to outlive this process, and its terminal. */
  readonly asSurvivor: SpawnLook;
  /** Asks all of a group to end, or ends it. */
  signalGroup(leaderPid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Sends it to this very process, and to nobody else of its group. */
  signal(process: ProcessRef, signal: RequestSignal): Promise<Signalled>;
  groupLives(leaderPid: number): Promise<boolean>;
  /** Whether the group with this leader's number is still this leader's: its own end alone does not end a group. */
  ownsGroup(leader: ProcessRef): Promise<boolean>;
}

/**
 * `unheard`: not sent, because it does not listen, and the signal would end it; where that can't be seen it is sent. `unable`: the
 * platform has no signals.
 */
export type Signalled = 'sent' | 'gone' | 'unheard' | 'unable';

export interface SpawnLook {
  readonly detached: boolean;
  readonly windowsHide: true;
}

/** Whether this very process, and not a later one with its number, still runs. */
export async function isRunning(processes: Processes, ref: ProcessRef): Promise<boolean> {
  const now = await processes.identify(ref.pid);
  return now !== null && now.start === ref.start;
}

/** As it stands in a file; null when what stands there is none. */
export function refOf(fields: Fields | null): ProcessRef | null {
  const { pid, start } = fields ?? {};
  const isPid = typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0;
  return isPid && typeof start === 'string' && start !== '' ? { pid, start } : null;
}
