import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { stripVTControlCharacters, styleText } from 'node:util';

export interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface Program {
  /** Resolves when the process has exited and all its output has been read. */
  readonly exited: Promise<End>;
  /** Sends SIGTERM, and SIGKILL if the process does not exit. Resolves when it has exited. */
  stop(): Promise<void>;
  /** Returns true after a stop request. */
  isStopped(): boolean;
  kill(): void;
}

export interface ProgramDeps {
  /** The main file of the program, relative to the checkout. */
  readonly entry: 'main/cli.ts' | 'dev/demo-fleet/run.ts';
  readonly args: readonly string[];
  readonly root: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onOut: (line: string) => void;
  readonly onErr: (line: string) => void;
}

/** Time from SIGTERM to SIGKILL in ms. A demo fleet needs it to cancel its jobs in sequence and to delete its workers. */
const stopWithinMs = 30_000;

/**
 * Starts a program of this checkout from its sources. The program gets its own process group, so that Ctrl-C reaches only this
 * process, which stops the programs in the right order. If this process dies, the programs exit by themselves.
 */
export function startProgram({ entry, args, root, env, onOut, onErr }: ProgramDeps): Program {
  const preload = new URL('leave-with-parent.ts', import.meta.url).href;
  const child = spawn(process.execPath, ['--import', preload, entry, ...args], {
    cwd: root,
    env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', onOut);
  createInterface({ input: child.stderr }).on('line', onErr);
  const exited = new Promise<End>(resolve => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', cause => {
      onErr(`The program cannot be started: ${cause.message}`);
      resolve({ code: null, signal: null });
    });
  });
  let isStopped = false;
  return {
    exited,
    isStopped: () => isStopped,
    kill: () => void child.kill('SIGKILL'),
    async stop() {
      isStopped = true;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopWithinMs);
      await exited;
      clearTimeout(timer);
    },
  };
}

export const endText = ({ code, signal }: End): string =>
  signal === null ? `exit code ${code}` : `signal ${signal}`;

/** Prints a text of one or several lines. */
export type Print = (text: string) => void;

const colours = { dev: 'bold', server: 'green', panel: 'cyan', fleet: 'yellow' } as const;
type ProgramName = keyof typeof colours;

const width = Math.max(...Object.keys(colours).map(name => name.length));

/** Combines the output of several programs. Each line starts with the name of its program. Colours are only for terminals. */
export const createPrefixedOutputs =
  (write: (text: string) => void, isColourful: boolean) =>
  (program: ProgramName): Print => {
    const name = `${program.padEnd(width)} |`;
    const prefix = isColourful ? styleText(colours[program], name, { validateStream: false }) : name;
    return text => {
      const lines = (isColourful ? text : stripVTControlCharacters(text)).split(/\r?\n/);
      for (const line of lines) if (line.trim() !== '') write(`${prefix} ${line}\n`);
    };
  };
