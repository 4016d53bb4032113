import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { root } from '../program.ts';

/** Timeout of a response in ms. A request may concern thousands of jobs. */
const responseMs = 120_000;

/** A program in a separate process that responds to each line with one line. */
export interface LineProgram {
  /**
   * Sends a request and resolves with the response. Send one request at a time. Rejects when the program ends without a response,
   * and after 120 s.
   */
  request(body: object): Promise<unknown>;
  close(): Promise<void>;
}

/**
 * Starts a program. Resolves when the program has printed its first line. `env`: variables in addition to those of this process.
 */
export async function startLineProgram(
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<LineProgram> {
  const child = spawn(process.execPath, argv, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = exitOf(child);
  const lines = createInterface({ input: child.stdout });
  // Ignore errors of stdin. The exit event reports the end of the program.
  child.stdin.on('error', () => {});
  const program = argv.slice(0, 2).join(' ');
  const failAtEnd = async (): Promise<never> => {
    throw new Error(`${program} exited with ${await exited}`);
  };
  const failWhenLate = async (): Promise<never> => {
    await setTimeout(responseMs, null, { ref: false });
    throw new Error(`${program} has not responded for ${responseMs / 1_000} s`);
  };
  const nextLine = (): Promise<string> =>
    Promise.race([new Promise<string>(resolve => lines.once('line', resolve)), failAtEnd(), failWhenLate()]);
  const close = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  await nextLine().catch(async (cause: unknown) => {
    await close();
    throw cause;
  });
  return {
    async request(body) {
      const line = nextLine();
      child.stdin.write(`${JSON.stringify(body)}\n`);
      return JSON.parse(await line) as unknown;
    },
    close,
  };
}

export const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise(resolve => child.once('exit', resolve));
