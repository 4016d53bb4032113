import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from '../retry/backoff.ts';
import type { Clock } from '../clock.ts';
import { isRunning, type ProcessRef, type Processes, refOf } from '../process/processes.ts';
import { readFields, showWhole } from '../files/whole-file.ts';

export type Locked =
  | { readonly kind: 'mine'; readonly release: () => void }
  | { readonly kind: 'held'; readonly by: ProcessRef };

export interface LockDeps {
  /** Created if missing. */
  readonly dir: string;
  readonly pid: number;
  readonly processes: Processes;
  readonly clock: Clock;
}

/** Two agents that start at once overwrite each other's lock. After this time, only the last one still finds its own. */
const confirmAfterMs = 150;

/**
 * Locks a state folder for one agent, because two would adopt the same trainer. Takes over a lock whose owner has ended. Throws
 * when the folder cannot be written.
 */
export async function lockState({ dir, pid, processes, clock }: LockDeps): Promise<Locked> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, 'lock');
  // Without a known start time, the lock does not keep other agents out. A lock that stays forever would be worse.
  const self = (await processes.identify(pid)) ?? { pid, start: 'unknown' };
  const holder = (): ProcessRef | null => refOf(readFields(file));
  const isMine = (ref: ProcessRef | null): boolean => ref?.pid === self.pid && ref.start === self.start;
  const earlier = holder();
  if (earlier !== null && (await isRunning(processes, earlier))) return { kind: 'held', by: earlier };
  showWhole(file, JSON.stringify(self));
  await pause(clock, confirmAfterMs, new AbortController().signal);
  const winner = holder();
  if (winner !== null && !isMine(winner)) return { kind: 'held', by: winner };
  return {
    kind: 'mine',
    release() {
      if (isMine(holder())) rmSync(file, { force: true });
    },
  };
}
