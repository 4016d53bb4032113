import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';

export interface ProgramCall {
  /** The program and its arguments. No shell reads them. */
  readonly argv: readonly string[];
  /** The whole environment. Variables that are undefined are left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Written to stdin, which then ends; empty by default. */
  readonly stdin?: string;
  /** After this time, the program and everything that it started are killed. */
  readonly timeoutMs: number;
  /** Maximum size of stdout and of stderr, each; 16 MiB by default. A program that prints more is killed. */
  readonly maxOutputBytes?: number;
}

export interface ProgramResult {
  /** How the program ended: by itself, not at all because it does not exist or cannot start, or because it was killed. */
  readonly ended: 'exited' | 'missing' | 'failed' | 'timed_out' | 'too_much_output' | 'killed';
  /** Exit code; null unless it ended by itself. */
  readonly code: number | null;
  readonly stdout: string;
  /** What the program printed there. For a program that could not start: the error. */
  readonly stderr: string;
}

/** Runs a program and resolves when it has ended. Never throws: each failure is a result. */
export type RunProgram = (call: ProgramCall) => Promise<ProgramResult>;

const defaultMaxBytes = 16 * 1024 * 1024;
/** How long to read stderr after the program has exited. A connection that ssh keeps in the background holds it open. */
const stderrGraceMs = 500;

export const runProgram: RunProgram = call =>
  new Promise(resolve => {
    try {
      const [file = '', ...args] = call.argv;
      const child = spawn(file, args, {
        env: { ...call.env },
        stdio: 'pipe',
        windowsHide: true,
        // Makes a process group, so that the time limit also ends what the program has started.
        detached: process.platform !== 'win32',
      });
      follow(child, call, resolve);
    } catch (error) {
      // Node throws for some arguments (a NUL character) and some failures (no memory).
      resolve({ ended: 'failed', code: null, stdout: '', stderr: String(error) });
    }
  });

function follow(
  child: ChildProcessWithoutNullStreams,
  { stdin = '', timeoutMs, maxOutputBytes = defaultMaxBytes }: ProgramCall,
  resolve: (result: ProgramResult) => void,
): void {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let exit: { readonly code: number | null } | null = null;
  let hasStdoutEnded = false;
  let isOver = false;

  const finish = (ended: ProgramResult['ended'], error?: string): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    child.stdout.destroy();
    child.stderr.destroy();
    resolve({
      ended,
      code: ended === 'exited' ? (exit?.code ?? null) : null,
      stdout: Buffer.concat(stdout).toString(),
      stderr: error ?? Buffer.concat(stderr).toString(),
    });
  };
  const kill = (ended: ProgramResult['ended']): void => {
    killGroup(child);
    finish(ended);
  };
  const timer = setTimeout(() => kill('timed_out'), timeoutMs);

  const collect = (chunks: Buffer[]) => {
    let size = 0;
    return (chunk: Buffer): void => {
      size += chunk.length;
      if (size > maxOutputBytes) kill('too_much_output');
      else chunks.push(chunk);
    };
  };
  const finishExited = (): void => finish(exit?.code === null ? 'killed' : 'exited');
  const finishSoon = (): void => {
    if (exit !== null && hasStdoutEnded) setTimeout(finishExited, stderrGraceMs).unref();
  };
  child.stdout.on('data', collect(stdout));
  child.stderr.on('data', collect(stderr));
  child.stdout.once('end', () => {
    hasStdoutEnded = true;
    finishSoon();
  });
  child.once('exit', code => {
    exit = { code };
    finishSoon();
  });
  child.once('close', finishExited);
  child.once('error', (error: NodeJS.ErrnoException) =>
    finish(error.code === 'ENOENT' ? 'missing' : 'failed', error.message),
  );
  // A program that does not read its input is no error: its exit code tells.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
}

function killGroup(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined) return;
  try {
    process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL');
  } catch {
    // It ended in this moment.
  }
}

/** Returns one sentence about a program that did not end with exit code 0. `name` is what it is for the reader, such as `squeue`. */
export function describeFailure(name: string, result: ProgramResult): string {
  const said = lastWords(result.stderr) || lastWords(result.stdout);
  const tail = said === '' ? '' : `: ${said}`;
  switch (result.ended) {
    case 'missing':
      return `${name} is not installed, or not on the PATH of the orchestrator`;
    case 'timed_out':
      return `${name} did not answer in time${tail}`;
    case 'too_much_output':
      return `${name} printed too much`;
    case 'failed':
      return `${name} could not be started${tail}`;
    case 'killed':
      return `${name} was killed${tail}`;
    case 'exited':
      return `${name} failed with exit code ${result.code ?? 1}${tail}`;
  }
}

/** The last lines of an output as one line of at most 500 characters. */
const lastWords = (output: string): string =>
  output
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .slice(-3)
    .join(' / ')
    .slice(-500);
