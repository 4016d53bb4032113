import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { root } from '../program.ts';

/** Timeout in ms of an answer, which may concern thousands of jobs. */
const answerMs = 120_000;

/** A program in a process of its own that answers each line with one line. */
export interface LineProgram {
  /** Asks one question at a time. Rejects when the program ends before it has answered. */
  ask(question: object): Promise<unknown>;
  close(): Promise<void>;
}

/** Starts a program. Resolves when it has printed its first line. `env` is added to the environment of this process. */
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
  // Ignore errors of stdin here: the end of the program is detected by its exit.
  child.stdin.on('error', () => {});
  const program = argv.slice(0, 2).join(' ');
  const failAtEnd = async (): Promise<never> => {
    throw new Error(`${program} exited with ${await exited}`);
  };
  const failWhenLate = async (): Promise<never> => {
    await setTimeout(answerMs, null, { ref: false });
    throw new Error(`${program} has not responded for ${answerMs / 1_000} s`);
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
    async ask(question) {
      const line = nextLine();
      child.stdin.write(`${JSON.stringify(question)}\n`);
      return JSON.parse(await line) as unknown;
    },
    close,
  };
}

export const exitOf = (child: ChildProcess): Promise<number | null> =>
  new Promise(resolve => child.once('exit', resolve));
