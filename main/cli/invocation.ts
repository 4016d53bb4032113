import type { Terminal } from '../server.ts';

/** Size of a terminal in characters. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

export interface CliTerminal extends Terminal {
  /**
   * Returns the current size of the terminal behind `out` or `err`; null when the stream is not a terminal, or its cursor
   * cannot move.
   */
  readonly outScreen: () => Screen | null;
  readonly errScreen: () => Screen | null;
  /** Asks the user at the terminal, and resolves to null without an answer. Null when there is no terminal. */
  readonly ask: ((question: string) => Promise<string | null>) | null;
  /** Reads standard input to its end; null when it is a terminal. */
  readonly stdin: (() => Promise<string>) | null;
}

/** The environment of a command: variables, terminal, signals and exit code. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: CliTerminal;
  /** The command line that starts this program. */
  readonly ownCommand: readonly string[];
  readonly onSignal: (signal: NodeJS.Signals, act: () => void) => void;
  /** Calls `act` when the reader of stdout closes the pipe, as `head` does. Without a listener, the program continues. */
  readonly onClosedPipe: (act: () => void) => void;
  /** Sets the exit code of the program. */
  readonly exit: (code: number) => void;
}
