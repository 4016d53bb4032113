import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { cliFile } from './program-files.ts';
import { endTrainings } from './trainings.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** A process under test, with its output. */
export interface Program {
  readonly pid: number;
  /** Lines of stdout and stderr, in order of arrival. */
  readonly lines: readonly string[];
  /**
   * Resolves with the match of the first past or future line that matches the pattern. Rejects when the process exits without
   * such a line.
   */
  waitForLine(pattern: RegExp): Promise<RegExpExecArray>;
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  kill(signal: NodeJS.Signals): void;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
}

export function startProgram(argv: readonly string[], options: ProgramOptions = {}): Program {
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd: options.cwd ?? root,
    env: { ...process.env, SIMPLETUNER_WORKER_TOKEN: undefined, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const listeners = new Set<() => void>();
  const addLine = (line: string): void => {
    lines.push(line);
    for (const check of listeners) check();
  };
  createInterface({ input: child.stdout }).on('line', addLine);
  createInterface({ input: child.stderr }).on('line', addLine);
  const exited = exitOf(child);
  void exited.then(() => {
    for (const check of listeners) check();
  });
  return {
    pid: child.pid ?? 0,
    lines,
    exited,
    kill: signal => void child.kill(signal),
    waitForLine: pattern =>
      new Promise((resolve, reject) => {
        const check = (): void => {
          const match = lines.map(line => pattern.exec(line)).find(candidate => candidate !== null);
          const hasExited = child.exitCode !== null || child.signalCode !== null;
          if (match === undefined && !hasExited) return;
          listeners.delete(check);
          if (match === undefined)
            reject(
              new Error(`${args.join(' ')} ended and never printed ${pattern.source}:\n${lines.join('\n')}`),
            );
          else resolve(match);
        };
        listeners.add(check);
        check();
      }),
  };
}

/** Resolves when the process has ended and all its output was read. */
const exitOf = (child: ChildProcess): Program['exited'] =>
  new Promise(resolve => child.once('close', (code, signal) => resolve({ code, signal })));

export const trainyard = (args: readonly string[], options: ProgramOptions = {}): Program =>
  startProgram([process.execPath, cliFile, ...args], options);

export interface ServerProgram extends Program {
  readonly url: string;
  readonly dataDir: string;
}

/** Starts `trainyard server --json` and waits until it is ready. */
export async function startServer(
  args: readonly string[] = [],
  dataDir = temporaryFolder(),
  options: ProgramOptions = {},
): Promise<ServerProgram> {
  const program = trainyard(['server', '--port', '0', '--data-dir', dataDir, '--json', ...args], options);
  const [line] = await program.waitForLine(/^\{"ready":true.*/);
  const { url } = JSON.parse(line) as { readonly url: string };
  return { ...program, url, dataDir };
}

export interface WorkerOptions {
  readonly url: string;
  readonly token: string;
  readonly args?: readonly string[];
  readonly stateHome?: string;
  /** Overrides the environment of the tests. */
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * Starts `trainyard worker` with the token in the environment, where other users cannot read it. The worker and its trainings end
 * with the test.
 */
export function startWorker({
  url,
  token,
  args = [],
  stateHome = temporaryFolder(),
  env = {},
}: WorkerOptions): Program {
  const program = trainyard(['worker', '--orchestrator-url', url, ...args], {
    env: { SIMPLETUNER_WORKER_TOKEN: token, XDG_STATE_HOME: stateHome, XDG_CONFIG_HOME: stateHome, ...env },
  });
  onTestFinished(async () => {
    program.kill('SIGKILL');
    await program.exited;
    await endTrainings(stateHome);
  });
  return program;
}

export const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'trainyard-test-'));

/** Command line of the digits example, as a custom trainer. */
export const digitsTrainer =
  `'${process.execPath}' '${join(root, 'examples/digits/train.ts')}' ` +
  '--config {config_path} --output {output_dir} --resume-from {resume_from}';
