import type { JobId, AttemptId } from '../../protocol/ids.ts';
import type { OnLostContact } from '../../protocol/job.ts';
import { launchGuard, type LaunchDeps } from '../guard/guard-launch.ts';
import {
  type Contact,
  type ExitRecord,
  type Order,
  type RunFolder,
  writeContact,
  writeStop,
  writeTask,
} from '../guard/guard-files.ts';
import { isRunning, type ProcessRef } from '../process/processes.ts';
import { type Attended, followRun, type RunListeners } from './run-follow.ts';
import type { PreparedJob } from '../job.ts';

/** A running trainer and its guard. */
export interface Run {
  /** The trainer's pid; null when the trainer ended before it could be identified. */
  readonly pid: number | null;
  /** Resolves when all processes of the run have ended: with the exit record, or with null when the guard left none. */
  readonly finished: Promise<ExitRecord | null>;
  /**
   * Sends SIGTERM to the trainer and all its children, and SIGKILL to the rest after the grace period. Only the first
   * order counts.
   */
  stop(order: Order, graceMs: number): void;
  /** Records that the orchestrator answered a call. */
  contact(contact: Contact): void;
  /** Stops following the run. The run continues, and `finished` stays pending. */
  leave(): void;
}

/** The job and attempt of a run, and what the run may do without contact to the orchestrator. */
export interface RunOrigin {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly configName: string;
  readonly onLostContact: OnLostContact;
  readonly contact: Contact;
  /** Number of this machine among the workers of the attempt; absent when the attempt has one worker. */
  readonly rank?: number;
}

export interface RunnerDeps extends LaunchDeps {
  readonly runOf: (attemptId: AttemptId) => RunFolder;
}

/** Starts a prepared job under its own guard; rejects when the guard cannot start. */
export async function startRun(
  job: PreparedJob,
  origin: RunOrigin,
  listeners: RunListeners,
  deps: RunnerDeps,
): Promise<Run> {
  const run = deps.runOf(origin.attemptId);
  const { argv, cwd, logFile, outputDir } = job;
  writeTask(run, { ...origin, argv, cwd, logFile, outputDir });
  writeContact(run, origin.contact);
  const guarded = await launchGuard(run, job, deps);
  return attendRun({ run, guarded, logFile, isAdopted: false }, listeners, deps);
}

/** Sends SIGTERM to the process group of `ref`, if its pid still belongs to the same process. */
async function terminateGroup(ref: ProcessRef, { processes }: LaunchDeps): Promise<void> {
  if (await isRunning(processes, ref).catch(() => false)) await processes.signalGroup(ref.pid, 'SIGTERM');
}

/** Follows a run that already has its guard. */
export function attendRun(attended: Attended, listeners: RunListeners, deps: LaunchDeps): Run {
  const { run, guarded } = attended;
  const followed = followRun(attended, listeners, deps);
  return {
    pid: guarded.trainer?.pid ?? null,
    finished: followed.finished,
    stop(order, graceMs) {
      try {
        writeStop(run, { order, graceMs });
      } catch {
        // The disk rejects all writes. So signal the guard, which stops the trainer. This process remembers the order.
        if (guarded.guard !== null) void terminateGroup(guarded.guard, deps);
      }
    },
    contact: contact => writeContact(run, contact),
    leave: followed.leave,
  };
}
