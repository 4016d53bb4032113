import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants } from 'node:os';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProgramOptions {
  /** Variables to add to the environment; undefined removes a variable. */
  readonly env?: Environment;
  /** Text for stdin, which is then closed; empty by default. */
  readonly stdin?: string;
  /** After this time, the program and its child processes are killed. */
  readonly timeoutMs: number;
  /** Maximum size of stdout, and of stderr, in bytes. A program that prints more is killed. */
  readonly maxOutput?: number;
}

export interface ProgramResult {
  /**
   * Exit code as in a shell: 127 if the program does not exist, 126 if it cannot start, and 128 plus the number of the signal
   * that ended it. Null if the program was killed because it exceeded a limit; its output is then incomplete.
   */
  readonly code: number | null;
  readonly stdout: string;
  /** Contains the error if the program could not start. */
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Runs a program without a shell. Resolves when the program has ended. Never rejects: every failure is a result. */
export type RunProgram = (argv: readonly string[], options: ProgramOptions) => Promise<ProgramResult>;

const defaultMaxOutput = 16 * 1024 * 1024;
/** Time to read stderr after the exit. The limit is needed because a background connection of ssh may keep stderr open. */
const stderrGraceMs = 500;

export function createRunProgram(environment: Environment): RunProgram {
  return (argv, options) =>
    new Promise(resolve => {
      const [file = '', ...args] = argv;
      try {
        const child = spawn(file, args, {
          env: { ...environment, ...options.env },
          stdio: 'pipe',
          windowsHide: true,
          // Create a process group, so that the timeout also kills child processes.
          detached: process.platform !== 'win32',
        });
        follow(child, file, options, resolve);
      } catch (error) {
        // Node throws for some arguments (a NUL character) and some failures (no memory).
        resolve({ code: 126, stdout: '', stderr: `${file}: ${String(error)}`, timedOut: false });
      }
    });
}

function follow(
  child: ChildProcessWithoutNullStreams,
  file: string,
  { stdin = '', timeoutMs, maxOutput = defaultMaxOutput }: ProgramOptions,
  resolve: (result: ProgramResult) => void,
): void {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let exitCode: number | null = null;
  let hasStdoutEnded = false;
  let isOver = false;

  const finish = (code: number | null, timedOut = false): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
    resolve({
      code,
      stdout: Buffer.concat(stdout).toString(),
      stderr: Buffer.concat(stderr).toString(),
      timedOut,
    });
  };
  const timer = setTimeout(() => {
    killGroup(child);
    finish(null, true);
  }, timeoutMs);

  const collect = (chunks: Buffer[]) => {
    let size = 0;
    return (chunk: Buffer): void => {
      size += chunk.length;
      if (size <= maxOutput) {
        chunks.push(chunk);
        return;
      }
      killGroup(child);
      stderr.push(Buffer.from(`\n${file}: printed more than ${maxOutput} bytes`));
      finish(null);
    };
  };
  const finishSoon = (): void => {
    if (exitCode !== null && hasStdoutEnded) setTimeout(() => finish(exitCode), stderrGraceMs);
  };
  child.stdout.on('data', collect(stdout));
  child.stderr.on('data', collect(stderr));
  child.stdout.once('end', () => {
    hasStdoutEnded = true;
    finishSoon();
  });
  child.once('exit', (code, signal) => {
    exitCode = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
    finishSoon();
  });
  child.once('close', () => finish(exitCode));
  child.once('error', (error: NodeJS.ErrnoException) => {
    const isMissing = error.code === 'ENOENT';
    stderr.push(Buffer.from(`${file}: ${isMissing ? 'not found' : error.message}`));
    finish(isMissing ? 127 : 126);
  });
  // A program may exit without reading its input. Its exit code shows whether that is a failure.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
}

function killGroup({ pid }: ChildProcessWithoutNullStreams): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
  } catch {
    // The group has just ended.
  }
}

/** Describes the failure of a program in one sentence. `name` is the name to show, such as `squeue`. */
export function describeFailure(name: string, { code, stdout, stderr, timedOut }: ProgramResult): string {
  const output = lastLines(stderr) || lastLines(stdout);
  const tail = output === '' ? '' : `: ${output}`;
  if (timedOut) return `${name} did not answer in time${tail}`;
  if (code === 127) return `${name} was not found${tail}`;
  return `${name} failed${code === null ? '' : ` with exit code ${code}`}${tail}`;
}

/** Returns the last lines of an output as one line of at most 500 characters. */
const lastLines = (output: string): string =>
  output
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .slice(-3)
    .join(' / ')
    .slice(-500);
