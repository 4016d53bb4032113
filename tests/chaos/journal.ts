/**
 * The journals of a chaos run, as JSON lines. The chaos run writes them, never the product. All times come from the machine's monotonic
 * clock, which all processes share.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { PlannedFault, PlannedJob } from './plan.ts';

/** Returns the time of this machine's monotonic clock in ms. */
export const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A record of one trainer process. `Hashes` maps the path of a file below the output folder to its SHA-256 in lower-case hex. */
export type TrainerNote =
  | { readonly kind: 'start'; readonly n: number }
  /** The trainer resumes from this checkpoint. `files`: the files that the trainer read. */
  | { readonly kind: 'resume'; readonly checkpoint: string; readonly step: number; readonly files: Hashes }
  /** `text` is the line that the trainer prints for this step. */
  | { readonly kind: 'step'; readonly step: number; readonly loss: number; readonly text: string }
  | { readonly kind: 'checkpoint'; readonly step: number; readonly files: Hashes }
  | { readonly kind: 'final'; readonly files: Hashes }
  | { readonly kind: 'term' }
  | { readonly kind: 'end'; readonly code: number };

type Hashes = Readonly<Record<string, string>>;

export type TrainerLine = TrainerNote & {
  readonly at: number;
  readonly pid: number;
  readonly job: string;
  readonly attempt: string;
  /** Index of the rig, counted from 0. */
  readonly rig: number;
};

/** One trainer process, as its journal shows it. */
export interface Run {
  readonly job: string;
  /** The id of the attempt that the process ran for. */
  readonly attempt: string;
  readonly rig: number;
  readonly pid: number;
  readonly startedAt: number;
  /** Time of the last record. */
  readonly lastAt: number;
  /** Exit code; null when a signal ended the process. */
  readonly code: number | null;
  readonly lines: readonly TrainerLine[];
}

/** A line in the journal of the client. */
export type ClientLine =
  | { readonly kind: 'submit'; readonly at: number; readonly job: PlannedJob }
  /**
   * The result of a submission. `n`: the number of the job in the plan. `status`: null when no response arrived. `id`: the job in
   * the response.
   */
  | {
      readonly kind: 'answer';
      readonly at: number;
      readonly n: number;
      readonly status: number | null;
      readonly id: string | null;
    }
  | { readonly kind: 'cancel'; readonly at: number; readonly id: string; readonly status: number | null }
  /** Any other call; `status`: null when no response arrived. */
  | { readonly kind: 'call'; readonly at: number; readonly call: string; readonly status: number | null };

/** A line that a follower of a job's log received, or the end of the log. */
export type FollowLine =
  | {
      readonly kind: 'line';
      readonly id: string;
      readonly attempt: number;
      readonly line: number;
      readonly text: string;
    }
  | { readonly kind: 'end'; readonly id: string; readonly attempt: number };

export interface FaultLine extends PlannedFault {
  readonly kind: 'begin' | 'end' | 'note';
  /** Milliseconds of the machine's monotonic clock. */
  readonly time: number;
  readonly note?: string | undefined;
}

/** The end of a process. `expected`: the reason why the chaos run expected the end; null when it did not. */
export interface ExitLine {
  readonly at: number;
  readonly who: string;
  readonly pid: number;
  readonly code: number | null;
  readonly signal: string | null;
  readonly expected: string | null;
}

export interface Journal<L> {
  readonly file: string;
  write(line: L): void;
  lines(): readonly L[];
}

export function openJournal<L>(file: string): Journal<L> {
  if (!existsSync(file)) writeFileSync(file, '');
  return {
    file,
    write: line => appendFileSync(file, `${JSON.stringify(line)}\n`),
    lines() {
      const text = readFileSync(file, 'utf8');
      // Skip a last line that is still being written.
      const completeLines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      return completeLines.filter(line => line !== '').map(line => JSON.parse(line) as L);
    },
  };
}

/** Groups the records by trainer process, in the order of their starts. */
export function runsIn(lines: readonly TrainerLine[]): readonly Run[] {
  const groups = Map.groupBy(lines, ({ pid, attempt }) => `${pid} ${attempt}`);
  return [...groups.values()].map(runOf).toSorted((a, b) => a.startedAt - b.startedAt);
}

function runOf(lines: readonly TrainerLine[]): Run {
  const first = lines[0]!;
  const end = lines.find(line => line.kind === 'end');
  return {
    job: first.job,
    attempt: first.attempt,
    rig: first.rig,
    pid: first.pid,
    startedAt: first.at,
    lastAt: lines.at(-1)!.at,
    code: end?.code ?? null,
    lines,
  };
}
