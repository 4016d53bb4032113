import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

export interface Child {
  readonly pid: number;
  /**
   * Calls `pick` for each line of stdout, and resolves with the first result that is not null. Rejects when the process exits
   * without such a line.
   */
  readonly ready: <T>(pick: (line: string) => T | null) => Promise<T>;
  /** Resolves with the exit code when the process exits. */
  readonly exited: Promise<number | null>;
  /** Sends SIGTERM and waits until the process exits. */
  stop(): Promise<void>;
  /** Lets this program exit while the process continues. */
  detach(): void;
}

export interface ChildCommand {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Receives stderr. A file, unlike a pipe, still accepts output after this program exits. */
  readonly logFile: string;
}

/** Starts a program in the background. */
export function startChild({ argv, env, logFile }: ChildCommand): Child {
  const [file = '', ...args] = argv;
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(file, args, { env: { ...env }, stdio: ['ignore', 'pipe', log], detached: true });
  closeSync(log);
  const { stdout } = child;
  if (stdout === null) throw new Error('stdout is not a pipe');
  const exited = new Promise<number | null>(resolve => {
    child.once('exit', resolve);
    child.once('error', () => resolve(null));
  });
  const lines = createInterface({ input: stdout });
  return {
    pid: child.pid ?? 0,
    exited,
    ready: pick =>
      new Promise((resolve, reject) => {
        lines.on('line', line => {
          const picked = pick(line);
          if (picked !== null) resolve(picked);
        });
        void exited.then(() =>
          reject(new Error(`it exited before it was ready:\n${readFileSync(logFile, 'utf8')}`)),
        );
      }),
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
    detach() {
      lines.close();
      stdout.destroy();
      child.unref();
    },
  };
}
