import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, writeSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { cleanLine } from '../../protocol/text.ts';
import type { Clock } from '../clock.ts';
import type { WorkerSignal } from '../session/signals.ts';

/** The result of a trial. In a trial, a new program runs as this worker before it replaces the parent's program. */
export type Trial =
  | { readonly kind: 'registered'; readonly end: () => Promise<void> }
  | { readonly kind: 'failed'; readonly reason: string }
  /** A signal to the parent ended the trial. */
  | { readonly kind: 'stopped'; readonly code: number };

export interface TrialDeps {
  readonly clock: Clock;
  /** The new program with the arguments of this worker. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls `pass` with each signal that this process gets from now on. */
  readonly onSignals: (pass: (signal: WorkerSignal) => void) => void;
}

/** The options that make a worker a trial. A trial leaves when its parent ends. Its training continues. */
const trialArguments = ['--trial', '--leave-with-parent'];
/** File descriptor of the pipe through which a trial reports that it works. */
const trialPipe = 3;
/** Time in ms for a new program to register, even if the orchestrator restarts. */
const registerMs = 180_000;
/** Time in ms for a trial to leave. */
const leaveMs = 30_000;

/**
 * Starts the new program beside the old one, with the same arguments. The new program adopts the running job, like any
 * next process of this worker. A registration proves that the new program works.
 */
export async function startTrial({ clock, command, env, onSignals }: TrialDeps): Promise<Trial> {
  const [file = '', ...args] = command;
  const child = spawn(file, [...args, ...trialArguments], {
    env: { ...env },
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // A separate process group, so that Ctrl-C in a terminal reaches the trial only once, through this process.
    detached: true,
  });
  // The pipe breaks when the trial has ended.
  child.stdin?.on('error', () => {});
  const lastLine = passOutput(child);
  let isStopping = false;
  onSignals(signal => {
    isStopping = true;
    child.kill(signal);
  });
  const exited = new Promise<number | null>(resolve => {
    child.once('error', () => resolve(null));
    child.once('exit', code => resolve(code));
  });
  const registered = new Promise<'registered'>(resolve => {
    const pipe = child.stdio[trialPipe];
    pipe?.once('data', () => resolve('registered'));
    pipe?.on('error', () => {});
  });
  const late = Promise.withResolvers<'late'>();
  const cancel = clock.after(registerMs, () => late.resolve('late'));
  const first = await Promise.race([registered, exited, late.promise]);
  cancel();
  const end = (): Promise<void> => endTrial(child, exited, clock);
  if (first === 'registered') return { kind: 'registered', end };
  if (isStopping) return { kind: 'stopped', code: (await exited) ?? 0 };
  await end();
  const lastOutput = lastLine();
  const reason =
    first === 'late'
      ? `The new program did not register within ${registerMs / 60_000} minutes`
      : `The new program exited with code ${first ?? 'unknown'} before it registered`;
  return { kind: 'failed', reason: lastOutput === '' ? reason : `${reason}: ${lastOutput}` };
}

/** Prints the output of the trial. Returns a function that returns the last line of the output. */
function passOutput(child: ChildProcess): () => string {
  let last = '';
  const pass = (from: Readable | null, to: NodeJS.WriteStream): void => {
    from?.on('data', (bytes: Buffer) => {
      to.write(bytes);
      last = bytes.toString('utf8').trimEnd().split('\n').at(-1) ?? last;
    });
  };
  pass(child.stdout, process.stdout);
  pass(child.stderr, process.stderr);
  return () => cleanLine(last).slice(0, 300);
}

/** Ends a trial. Its training continues under its guard. */
async function endTrial(child: ChildProcess, exited: Promise<unknown>, clock: Clock): Promise<void> {
  child.stdin?.end();
  const cancel = clock.after(leaveMs, () => child.kill('SIGKILL'));
  await exited;
  cancel();
}

/** Returns a function that reports to the parent that this trial works. Further calls do nothing. */
export function reportTrial(log: (message: string) => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    try {
      writeSync(trialPipe, 'registered\n');
      closeSync(trialPipe);
    } catch {
      log('--trial is for the worker that installs this program, which does not answer');
    }
  };
}
