import type { Clock, Log } from '../../orchestrator/ports/index.ts';
import { type DiskFault, diskFault } from './disk-fault.ts';

/** Pause before retrying after the disk rejected a change; the same as `Retry-After` for clients. */
const probeEveryMs = 5_000;

/**
 *     working --- disk full, I/O error ---> refusing
 *     working <-- a probe succeeds -------- refusing
 *     either  --- fsync failed, damage ---> dead
 *
 * In `refusing`, reads still work. `dead` is final: the process has to exit.
 */
export interface DiskState {
  readonly now: () => 'working' | 'refusing' | 'dead';
  /** The error that caused the switch to `refusing`. */
  readonly cause: () => unknown;
  /** Records an error and returns its class. */
  note(cause: unknown): DiskFault | null;
  onRecovery(run: () => void): void;
  /** Stops probing. */
  stop(): void;
}

export interface DiskStateDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Writes and syncs like a change; throws when that fails. */
  readonly probe: () => void;
  /** Called once when the process has to exit without answering any request. */
  readonly onFatal: (cause: unknown) => void;
}

export function createDiskState({ clock, log, probe, onFatal }: DiskStateDeps): DiskState {
  let state: 'working' | 'refusing' | 'dead' = 'working';
  let refusedBecause: unknown = null;
  let refusedAt = 0;
  let cancelProbe = (): void => {};
  const listeners: (() => void)[] = [];

  const probeLater = (): void => {
    cancelProbe = clock.after(probeEveryMs, retryDisk);
  };

  const retryDisk = (): void => {
    try {
      probe();
    } catch (cause) {
      if (diskFault(cause) === 'fatal') die(cause);
      else probeLater();
      return;
    }
    state = 'working';
    log.warn('store.recovered', { refusedForMs: Math.round(clock.mono() - refusedAt) });
    for (const run of listeners) {
      try {
        run();
      } catch (cause) {
        log.error('store.recovery_listener_failed', { cause });
      }
    }
  };

  const refuse = (cause: unknown): void => {
    if (state !== 'working') return;
    state = 'refusing';
    refusedBecause = cause;
    refusedAt = clock.mono();
    log.error('store.refusing', {
      cause,
      note: 'No change is taken until the disk works again, which is tried every 5 s: is it full, or failing?',
    });
    probeLater();
  };

  const die = (cause: unknown): void => {
    if (state === 'dead') return;
    state = 'dead';
    cancelProbe();
    log.error('store.fatal', {
      cause,
      note: 'What the disk holds is unknown, so the orchestrator ends here: look at the disk, then start it again',
    });
    onFatal(cause);
  };

  return {
    now: () => state,
    cause: () => refusedBecause,
    note(cause) {
      const fault = diskFault(cause);
      if (fault === 'refusing') refuse(cause);
      else if (fault === 'fatal') die(cause);
      return fault;
    },
    onRecovery: run => void listeners.push(run),
    stop: () => cancelProbe(),
  };
}
