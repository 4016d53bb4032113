import type { JobId, AttemptId } from '../protocol/ids.ts';
import type { OnLostContact } from '../protocol/job.ts';
import { launchGuard, type LaunchParts } from './guard-launch.ts';
import {
  type Contact,
  type ExitRecord,
  type Order,
  type RunFolder,
  writeContact,
  writeStop,
  writeTask,
} from './guard-files.ts';
import { isRunning, type ProcessRef } from './processes.ts';
import { type Attended, followRun, type RunEars } from './run-follow.ts';
import type { PreparedJob } from './trainer.ts';

/** A trainer at work under its guard. */
export interface Run {
  /** The trainer's; null when nobody could look at it before its end. */
  readonly pid: number | null;
  /** How it ended; null when its guard went without a word, and what was left of it has been ended. */
  readonly finished: Promise<ExitRecord | null>;
  /** SIGTERM to the trainer and all its children, SIGKILL to what is left after the grace. The first order counts. */
  stop(order: Order, graceMs: number): void;
  /** A call was answered. */
  contact(contact: Contact): void;
  /** Looks after it no longer: it goes on, and `finished` stays open. */
  leave(): void;
}

/** Whose run it is, and what it may do without contact. */
export interface RunOrigin {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly configName: string;
  readonly onLostContact: OnLostContact;
  readonly contact: Contact;
}

export interface RunnerParts extends LaunchParts {
  readonly runOf: (attemptId: AttemptId) => RunFolder;
}

/** Starts a prepared job under a guard of its own; rejects when there can't be one. */
export async function startRun(
  job: PreparedJob,
  origin: RunOrigin,
  ears: RunEars,
  parts: RunnerParts,
): Promise<Run> {
  const run = parts.runOf(origin.attemptId);
  const { argv, cwd, logFile, outputDir } = job;
  writeTask(run, { ...origin, argv, cwd, logFile, outputDir });
  writeContact(run, origin.contact);
  const guarded = await launchGuard(run, job, parts);
  return attendRun({ run, guarded, logFile, isAdopted: false }, ears, parts);
}

/** Asks a process that leads a group of its own to end, if it is still the same one. */
async function signalProcess(ref: ProcessRef, { processes }: LaunchParts): Promise<void> {
  if (await isRunning(processes, ref).catch(() => false)) await processes.signalGroup(ref.pid, 'SIGTERM');
}

/** Follows a run that has its guard already. */
export function attendRun(attended: Attended, ears: RunEars, parts: LaunchParts): Run {
  const { run, guarded } = attended;
  const followed = followRun(attended, ears, parts);
  return {
    pid: guarded.trainer?.pid ?? null,
    finished: followed.finished,
    stop(order, graceMs) {
      try {
        writeStop(run, { order, graceMs });
      } catch {
        // A disk that takes nothing at all. The guard passes the signal on; whose order it was is known here.
        if (guarded.guard !== null) void signalProcess(guarded.guard, parts);
      }
    },
    contact: contact => writeContact(run, contact),
    leave: followed.leave,
  };
}
