import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { constants } from 'node:os';

type Environment = Readonly<Record<string, string | undefined>>;

export interface ProgramOptions {
  /** Variables that are added to the environment of the runner. A variable that is undefined is removed. */
  readonly env?: Environment;
  /** Text for stdin, which is then closed; empty by default. */
  readonly stdin?: string;
  /** After this time, the program and all processes that it started are killed. */
  readonly timeoutMs: number;
  /** Maximum size of stdout and of stderr in bytes, each. A program with more output is killed. */
  readonly maxOutput?: number;
}

export interface ProgramResult {
  /**
   * Exit code as in a shell: 127 if the program does not exist, 126 if it cannot start, and 128 plus the signal's number if a
   * signal ended it. Null when it was killed because it exceeded a limit, so its output is incomplete.
   */
  readonly code: number | null;
  readonly stdout: string;
  /** Contains the error if the program could not start. */
  readonly stderr: string;
  readonly timedOut: boolean;
}

/** Runs a program without a shell. Resolves when it has ended. Never throws: every failure is a result. */
export type RunProgram = (argv: readonly string[], options: ProgramOptions) => Promise<ProgramResult>;

const defaultMaxOutput = 16 * 1024 * 1024;
/** After the program has exited, stderr is read for this long. A background connection of ssh may keep stderr open. */
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
          // Creates a process group, so that the timeout also kills the processes that the program started.
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

/** Returns one sentence about a program whose exit code was not 0. `name` is the program's name for the user, such as `squeue`. */
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
