import type { Terminal } from '../server.ts';

/** How much text a screen shows. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
}

export interface CliTerminal extends Terminal {
  /** What `out` and `err` write to, as it is now; null when it is no screen, or none whose cursor can be moved. */
  readonly outScreen: () => Screen | null;
  readonly errScreen: () => Screen | null;
  /** Asks the person at the terminal, who may give no answer: null. Is itself null when there is nobody to ask. */
  readonly ask: ((question: string) => Promise<string | null>) | null;
}

/** What a command works with besides its arguments. */
export interface Invocation {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly terminal: CliTerminal;
  /** How to start this program again. */
  readonly ownCommand: readonly string[];
  readonly onSignal: (signal: NodeJS.Signals, act: () => void) => void;
  /** Acts when nobody reads stdout any more, as behind `| head`; without it the program goes on. */
  readonly onClosedPipe: (act: () => void) => void;
  /** What the program will exit with. */
  readonly exit: (code: number) => void;
}
