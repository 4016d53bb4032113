import { readFileSync, writeFileSync } from 'node:fs';
import { eventually, type Found } from './notices.ts';

/** How a job steers its stub trainer: the job's config, as it is submitted. */
export interface StubConfig {
  /** Nothing of its concern. */
  readonly canary?: string;
  /** It ends by itself after this long, ... */
  readonly run_ms?: number;
  /** ... or as soon as this file exists, or one of its name with `.` and the trainer's pid; else it runs for ever. */
  readonly until?: string;
  readonly exit_code?: number;
  /** It sends itself this signal as soon as it has started. */
  readonly die_at_start?: 'SIGKILL' | 'SIGSEGV' | 'SIGABRT';
  readonly ignore_sigterm?: boolean;
  /** A line of descendants of this length: 2 for a child and a grandchild. They ignore SIGTERM. */
  readonly generations?: number;
  /** What it prints besides its progress. */
  readonly print?: {
    readonly kind: 'lines' | 'one_line' | 'binary';
    readonly bytes: number;
    readonly bytes_per_s: number;
  };
}

/** One line of the record that all stub trainers of a test write. */
export interface TrainerLine {
  readonly kind: 'start' | 'tick' | 'printed' | 'term' | 'end' | 'child';
  /** Milliseconds on the clock that all processes of this machine share. */
  readonly at: number;
  readonly pid: number;
  readonly job: string;
  /** Of a start: names of environment variables that hold a token. */
  readonly leaks?: readonly string[];
  /** Of an end: how it ended, as far as the trainer itself could know. */
  readonly code?: number;
  readonly signal?: string;
}

/** One trainer process. Times are those of its lines. */
export interface TrainerRun {
  readonly job: string;
  readonly pid: number;
  readonly startedAt: number;
  /** It showed signs of life until then. */
  readonly lastAt: number;
  /** It said so; one that was killed never does. */
  readonly ended: boolean;
  readonly lines: readonly TrainerLine[];
}

export interface TrainerRecord {
  readonly file: string;
  lines(): readonly TrainerLine[];
  /** In the order of their starts; of one job, or of all. */
  runs(job?: string): readonly TrainerRun[];
  waitFor<T>(what: string, look: (record: TrainerRecord) => Found<T>, timeoutMs?: number): Promise<T>;
}

export function createTrainerRecord(file: string): TrainerRecord {
  writeFileSync(file, '');
  const record: TrainerRecord = {
    file,
    lines: () => parseRecord(readFileSync(file, 'utf8')),
    runs: job => runsOf(record.lines()).filter(run => job === undefined || run.job === job),
    waitFor: (what, look, timeoutMs) => eventually(what, () => look(record), timeoutMs),
  };
  return record;
}

/** A last line that is still being written is left for later. */
const parseRecord = (text: string): TrainerLine[] =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as TrainerLine);

/** Leaders only: what the descendants of a trainer write is no run of its own. */
export function runsOf(lines: readonly TrainerLine[]): readonly TrainerRun[] {
  const children = new Set(lines.filter(({ kind }) => kind === 'child').map(({ pid }) => pid));
  const byPid = Map.groupBy(
    lines.filter(({ pid }) => !children.has(pid)),
    ({ pid }) => pid,
  );
  return [...byPid.values()]
    .map(own => ({
      job: own[0]?.job ?? '',
      pid: own[0]?.pid ?? 0,
      startedAt: own[0]?.at ?? 0,
      lastAt: own.at(-1)?.at ?? 0,
      ended: own.some(({ kind }) => kind === 'end'),
      lines: own,
    }))
    .toSorted((a, b) => a.startedAt - b.startedAt);
}

/** Pairs of runs of one job of which the later began while the earlier one still lived. */
export function overlapsOf(runs: readonly TrainerRun[]): readonly (readonly [TrainerRun, TrainerRun])[] {
  return [...Map.groupBy(runs, ({ job }) => job).values()].flatMap(own =>
    own.flatMap((earlier, n) =>
      own
        .slice(n + 1)
        .filter(later => later.startedAt <= earlier.lastAt)
        .map(later => [earlier, later] as const),
    ),
  );
}
