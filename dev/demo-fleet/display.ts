import { printEvent } from '../../main/cli/output.ts';
import type { Remote } from '../../main/cli/remote.ts';
import { cutLine, plain } from '../../main/cli/table.ts';

/** Counts of trainings and workers in the whole demo. All demo workers update the same object. */
export interface Tally {
  connected: number;
  training: number;
  completed: number;
  failed: number;
  /** Trainings that were cancelled, moved to another worker, or interrupted because the worker ended. */
  stopped: number;
  /** Workers that are currently disconnected, to simulate a network failure. */
  away: number;
  /** Workers that have ended. */
  ended: number;
}

export const newTally = (): Tally => ({
  connected: 0,
  training: 0,
  completed: 0,
  failed: 0,
  stopped: 0,
  away: 0,
  ended: 0,
});

export interface FleetStatus extends Tally {
  readonly workers: number;
  /** The number of submitted jobs; null when the demo submits none. */
  readonly submitted: number | null;
}

/** The demo's output: one line per event and, on a terminal, a status line that updates in place. */
export interface FleetDisplay {
  event(row: Readonly<Record<string, unknown>> & { readonly type: string }, line: string): void;
  status(status: FleetStatus): void;
  /** Prints a message for people. */
  log(message: string): void;
  /** Leaves the last status line on the screen. */
  close(): void;
}

export function createDisplay({ terminal, flags }: Pick<Remote, 'terminal' | 'flags'>): FleetDisplay {
  const isForPeople = flags['json'] !== true && flags['output'] === undefined;
  let isOpen = false;
  let latest = '';
  const clear = (): void => {
    if (isOpen) terminal.out('\r\u001b[2K');
    isOpen = false;
  };
  return {
    event(row, line) {
      clear();
      printEvent({ terminal, flags }, row, line);
    },
    status(status) {
      const line = statusLine(status);
      const screen = isForPeople ? terminal.outScreen() : null;
      if (screen === null) {
        if (line !== latest) printEvent({ terminal, flags }, { type: 'status', ...status }, line);
      } else {
        terminal.out(`\r\u001b[2K${cutLine(line, screen.columns - 1)}`);
        isOpen = true;
      }
      latest = line;
    },
    log(message) {
      clear();
      terminal.err(`${plain(message)}\n`);
    },
    close() {
      if (isOpen) terminal.out('\n');
      isOpen = false;
    },
  };
}

/**
 * Returns the status as one line. Omits optional counts that are zero.
 *
 * @internal
 */
export function statusLine(status: FleetStatus): string {
  const { workers, connected, training, completed, failed, stopped, away, ended, submitted } = status;
  return [
    `${connected} of ${workers} connected`,
    `${training} training`,
    `${completed} completed`,
    `${failed} failed`,
    stopped > 0 ? `${stopped} stopped` : null,
    away > 0 ? `${away} disconnected` : null,
    ended > 0 ? `${ended} ended` : null,
    submitted === null ? null : `${submitted} submitted`,
  ]
    .filter(part => part !== null)
    .join(', ');
}
