/**
 * The journals of a run: JSON lines that the product never touches. Times are on the clock that all processes of a
 * machine share.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { PlannedFault, PlannedJob } from './plan.ts';

/** Milliseconds of this machine's monotonic clock. */
export const machineNow = (): number => Number(process.hrtime.bigint()) / 1e6;

/** What one trainer process records. SHA-256 is lower-case hex, keyed by the file's path below the output folder. */
export type TrainerNote =
  | { readonly kind: 'start'; readonly n: number }
  /** It resumes from this checkpoint, whose files it has read. */
  | { readonly kind: 'resume'; readonly checkpoint: string; readonly step: number; readonly files: Hashes }
  /** `text` is what it prints about this step. */
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
  /** Counted from 0. */
  readonly rig: number;
};

/** One trainer process. */
export interface Run {
  readonly job: string;
  /** The attempt's id. */
  readonly attempt: string;
  readonly rig: number;
  readonly pid: number;
  readonly startedAt: number;
  /** The time of its last line. */
  readonly lastAt: number;
  /** Its exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly lines: readonly TrainerLine[];
}

/** What clients of the orchestrator record. */
export type ClientLine =
  | { readonly kind: 'submit'; readonly at: number; readonly job: PlannedJob }
  /** `status` is null when no answer arrived. `id` is the job that the answer names. */
  | {
      readonly kind: 'answer';
      readonly at: number;
      readonly n: number;
      readonly status: number | null;
      readonly id: string | null;
    }
  | { readonly kind: 'cancel'; readonly at: number; readonly id: string; readonly status: number | null }
  /** Any other call, and the status of its answer. */
  | { readonly kind: 'call'; readonly at: number; readonly call: string; readonly status: number | null };

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

/** A process that ended, and why the run expected that; null when the run did not expect it. */
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
      // Skips a last line that is still being written.
      const whole = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
      return whole.filter(line => line !== '').map(line => JSON.parse(line) as L);
    },
  };
}

/** Ordered by their starts. */
export function runsIn(lines: readonly TrainerLine[]): readonly Run[] {
  const groups = Map.groupBy(lines, ({ pid, attempt }) => `${pid} ${attempt}`);
  return [...groups.values()]
    .map(own => {
      const [first] = own;
      const end = own.find(line => line.kind === 'end');
      return {
        job: first!.job,
        attempt: first!.attempt,
        rig: first!.rig,
        pid: first!.pid,
        startedAt: first!.at,
        lastAt: own.at(-1)!.at,
        code: end?.code ?? null,
        lines: own,
      };
    })
    .toSorted((a, b) => a.startedAt - b.startedAt);
}
