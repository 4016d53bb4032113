/** Simulated trainer processes for a v1 agent (docs/internals/worker-contract.md, section 3, items 3, 6, 7, 10, 14). */
import type { V1Job } from './v1-events.ts';

/** A trainer process. Exit codes are as in Python: negative for a signal, such as -15 for SIGTERM. */
export interface FakeRun {
  /** Returns the next line of output; null when the process has ended and all output was read. */
  readLine(): Promise<string | null>;
  /** Returns the exit code; null while the process runs. */
  exitCode(): number | null;
  /** Resolves with the exit code when the process has ended. */
  readonly exited: Promise<number>;
  signal(name: 'SIGTERM' | 'SIGKILL'): void;
}

export type V1Trainer = (job: V1Job) => FakeRun;

/** A run that a test controls. */
export interface ManualRun extends FakeRun {
  readonly job: V1Job;
  readonly signals: readonly string[];
  print(line: string): void;
  exit(code: number): void;
}

interface RunOptions {
  /** The reaction to SIGTERM: `exit` (the default) ends the run with -15; `ignore` leaves it running until SIGKILL. */
  readonly onTerm?: 'exit' | 'ignore';
}

export function createManualRun(job: V1Job, { onTerm = 'exit' }: RunOptions = {}): ManualRun {
  const unread: string[] = [];
  const signals: string[] = [];
  const ended = Promise.withResolvers<number>();
  let reader: ((line: string | null) => void) | null = null;
  let code: number | null = null;

  function feedReader(): void {
    if (reader === null || (unread.length === 0 && code === null)) return;
    const read = reader;
    reader = null;
    read(unread.shift() ?? null);
  }

  function exit(exitCode: number): void {
    if (code !== null) return;
    code = exitCode;
    ended.resolve(exitCode);
    feedReader();
  }

  return {
    job,
    signals,
    exited: ended.promise,
    exit,
    exitCode: () => code,
    readLine: () =>
      new Promise(resolve => {
        reader = resolve;
        feedReader();
      }),
    print(line) {
      if (code !== null) throw new Error(`the trainer of ${job.jobId} has ended and cannot print`);
      unread.push(line);
      feedReader();
    },
    signal(name) {
      signals.push(name);
      if (name === 'SIGKILL') exit(-9);
      else if (onTerm === 'exit') exit(-15);
    },
  };
}

export interface ManualTrainer {
  readonly trainer: V1Trainer;
  /** All runs so far, oldest first. */
  readonly runs: readonly ManualRun[];
  /** Resolves with the n-th run of this trainer, counted from 0, as soon as it has started. */
  readonly run: (index?: number) => Promise<ManualRun>;
}

/** Creates a trainer whose output and exit a test controls. */
export function manualTrainer(options: RunOptions = {}): ManualTrainer {
  const runs: ManualRun[] = [];
  const slots = new Map<number, PromiseWithResolvers<ManualRun>>();

  function slot(index: number): PromiseWithResolvers<ManualRun> {
    const existing = slots.get(index) ?? Promise.withResolvers<ManualRun>();
    slots.set(index, existing);
    return existing;
  }

  return {
    runs,
    trainer(job) {
      const run = createManualRun(job, options);
      slot(runs.length).resolve(run);
      runs.push(run);
      return run;
    },
    run: (index = 0) => slot(index).promise,
  };
}

export interface Script {
  readonly lines?: readonly string[];
  readonly exitCode?: number;
}

/** Creates a trainer that prints one line each time the agent reads. After the last line it exits, by default with code 0. */
export function scriptedTrainer({ lines = [], exitCode = 0 }: Script = {}): V1Trainer {
  return job => {
    const run = createManualRun(job);
    let printed = 0;
    return {
      ...run,
      readLine() {
        const line = lines[printed];
        printed += 1;
        if (line === undefined) run.exit(exitCode);
        else if (run.exitCode() === null) run.print(line);
        return run.readLine();
      },
    };
  };
}
