import type { Terminal } from '../server.ts';

/** Size of a terminal in characters. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

export interface CliTerminal extends Terminal {
  /** The current size of the terminal behind `out` or `err`; null when it is no terminal, or has no movable cursor. */
  readonly outScreen: () => Screen | null;
  readonly errScreen: () => Screen | null;
  /** Asks the person at the terminal; resolves to null without an answer. The function itself is null when nobody can be asked. */
  readonly ask: ((question: string) => Promise<string | null>) | null;
  /** Reads standard input to its end; null when it is a terminal. */
  readonly stdin: (() => Promise<string>) | null;
}

/** What a command uses besides its arguments. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: CliTerminal;
  /** The command line that starts this program. */
  readonly ownCommand: readonly string[];
  readonly onSignal: (signal: NodeJS.Signals, act: () => void) => void;
  /** Runs when the reader of stdout is gone, as with `| head`. Without it, the program continues. */
  readonly onClosedPipe: (act: () => void) => void;
  /** Sets the exit code of the program. */
  readonly exit: (code: number) => void;
}
