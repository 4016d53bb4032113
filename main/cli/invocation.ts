import type { Terminal } from '../server.ts';

/** What a command works with besides its arguments. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  /** How to start this program again. */
  readonly ownCommand: readonly string[];
  readonly onSignal: (signal: NodeJS.Signals, act: () => void) => void;
  /** What the program will exit with. */
  readonly exit: (code: number) => void;
}
