import { printEvent } from '../output.ts';
import type { Remote } from '../remote.ts';
import { cutLine, plain } from '../table.ts';
import type { Tally } from './tally.ts';

export interface FleetStatus extends Tally {
  readonly workers: number;
  /** Null when no jobs are submitted here. */
  readonly submitted: number | null;
}

/** What a demo prints: events one below the other, and how it stands, on a screen in one line that changes. */
export interface FleetDisplay {
  event(row: Readonly<Record<string, unknown>> & { readonly type: string }, line: string): void;
  status(status: FleetStatus): void;
  /** For people. */
  say(message: string): void;
  /** Leaves the last status as it stands. */
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
    say(message) {
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
 * What there is none of, and is not always there, is left out.
 * @internal
 */
export function statusLine(status: FleetStatus): string {
  const { workers, connected, training, completed, failed, stopped, away, left, submitted } = status;
  return [
    `${connected} of ${workers} connected`,
    `${training} training`,
    `${completed} completed`,
    `${failed} failed`,
    stopped > 0 ? `${stopped} stopped` : null,
    away > 0 ? `${away} vanished` : null,
    left > 0 ? `${left} left` : null,
    submitted === null ? null : `${submitted} submitted`,
  ]
    .filter(part => part !== null)
    .join(', ');
}
