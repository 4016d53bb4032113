import { readFileSync, writeFileSync } from 'node:fs';
import { eventually, type Found } from './notices.ts';

/** The config of a job for the stub trainer. */
export interface StubConfig {
  /** A marker that must not leak. The trainer ignores it. */
  readonly canary?: string;
  /** The trainer exits after this time in ms. */
  readonly run_ms?: number;
  /**
   * The trainer exits when this file exists, or a file with this name plus `.PID`. Without `run_ms` and `until`, the trainer runs
   * forever.
   */
  readonly until?: string;
  readonly exit_code?: number;
  /** The trainer sends itself this signal right after its start. */
  readonly die_at_start?: 'SIGKILL' | 'SIGSEGV' | 'SIGABRT';
  readonly ignore_sigterm?: boolean;
  /** The length of the trainer's chain of descendants: 2 for a child and a grandchild. Descendants ignore SIGTERM. */
  readonly generations?: number;
  /** Output in addition to the progress. */
  readonly print?: {
    readonly kind: 'lines' | 'one_line' | 'binary';
    readonly bytes: number;
    readonly bytes_per_s: number;
  };
}

/** One line of the record that all stub trainers of a test write. */
export interface TrainerLine {
  readonly kind: 'start' | 'tick' | 'printed' | 'term' | 'end' | 'child';
  /** Milliseconds of the machine's monotonic clock, which all processes share. */
  readonly at: number;
  readonly pid: number;
  readonly job: string;
  /** For a start: the names of environment variables that contain a token. */
  readonly leaks?: readonly string[];
  /** For an end: the exit code or the signal, which a trainer killed by SIGKILL cannot record. */
  readonly code?: number;
  readonly signal?: string;
}

/** One trainer process. `startedAt` and `lastAt` are the times of its first and last line. */
export interface TrainerRun {
  readonly job: string;
  readonly pid: number;
  readonly startedAt: number;
  /** Time of the last line. */
  readonly lastAt: number;
  /** True when the trainer recorded its own end. A trainer killed by SIGKILL never does. */
  readonly ended: boolean;
  readonly lines: readonly TrainerLine[];
}

export interface TrainerRecord {
  readonly file: string;
  lines(): readonly TrainerLine[];
  /** The runs of one job, or of all jobs, in the order of their starts. */
  runs(job?: string): readonly TrainerRun[];
  /** Resolves with the first result of `check` that is not empty. Rejects after the timeout, 30 s by default. */
  waitFor<T>(what: string, check: (record: TrainerRecord) => Found<T>, timeoutMs?: number): Promise<T>;
}

export function createTrainerRecord(file: string): TrainerRecord {
  writeFileSync(file, '');
  const record: TrainerRecord = {
    file,
    lines: () => parseRecord(readFileSync(file, 'utf8')),
    runs: job => runsOf(record.lines()).filter(run => job === undefined || run.job === job),
    waitFor: (what, check, timeoutMs) => eventually(what, () => check(record), timeoutMs),
  };
  return record;
}

/** Skips a last line that is still being written. */
const parseRecord = (text: string): TrainerLine[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as TrainerLine);

/** Groups the lines of trainers by process, in the order of their starts. Leaves out descendants. */
export function runsOf(lines: readonly TrainerLine[]): readonly TrainerRun[] {
  const children = new Set(lines.filter(({ kind }) => kind === 'child').map(({ pid }) => pid));
  const byPid = Map.groupBy(
    lines.filter(({ pid }) => !children.has(pid)),
    ({ pid }) => pid,
  );
  return [...byPid.values()]
    .map(runLines => ({
      job: runLines[0]?.job ?? '',
      pid: runLines[0]?.pid ?? 0,
      startedAt: runLines[0]?.at ?? 0,
      lastAt: runLines.at(-1)?.at ?? 0,
      ended: runLines.some(({ kind }) => kind === 'end'),
      lines: runLines,
    }))
    .toSorted((a, b) => a.startedAt - b.startedAt);
}

/** Returns the pairs of overlapping runs of a job: the later run started before the earlier run wrote its last line. */
export function overlapsOf(runs: readonly TrainerRun[]): readonly (readonly [TrainerRun, TrainerRun])[] {
  return [...Map.groupBy(runs, ({ job }) => job).values()].flatMap(runsOfJob =>
    runsOfJob.flatMap((earlier, n) =>
      runsOfJob
        .slice(n + 1)
        .filter(later => later.startedAt <= earlier.lastAt)
        .map(later => [earlier, later] as const),
    ),
  );
}
