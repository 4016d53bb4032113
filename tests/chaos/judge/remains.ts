import type { WorkerEvidence } from '../evidence.ts';
import type { ExitLine } from '../journal.ts';
import type { Violation } from './violation.ts';

/** Resources and processes that remain after all jobs have ended. */
export interface Remains {
  readonly workers: readonly WorkerEvidence[];
  readonly exits: readonly ExitLine[];
  /** Processes of the run that are still alive but should have ended. */
  readonly processes: readonly string[];
  readonly descriptors: { readonly before: number; readonly after: readonly string[] };
  readonly memoryGrowth: number;
  /** The statuses of calls with replaced tokens. */
  readonly oldTokens: readonly number[];
}

/** Allowance for heaps, which do not shrink at once. */
const memoryAllowance = 256 * 1_048_576;
const mib = 1_048_576;

export function judgeRemains(remains: Remains): readonly Violation[] {
  const { workers, exits, processes, descriptors, memoryGrowth, oldTokens } = remains;
  const idle = workers
    .filter(worker => worker.status !== 'idle' || worker.current_job_id !== null)
    .map(({ name, status, status_reason: reason, current_job_id: job }) => ({
      rule: 'workers are idle at the end',
      what: `${name} is ${status} (${reason}) with the job ${job}`,
    }));
  const banned = workers.flatMap(({ name, quarantine }) =>
    quarantine === null
      ? []
      : [{ rule: 'no healthy worker is quarantined', what: `${name}: ${quarantine.reason}` }],
  );
  const crashed = exits
    .filter(({ expected }) => expected === null)
    .map(({ who, code, signal }) => ({
      rule: 'no program ends unexpectedly',
      what: `${who} ended with ${signal ?? code}`,
    }));
  const extra = descriptors.after.length - descriptors.before;
  const left = [
    ...processes.map(what => ({ rule: 'no process outlives the run', what })),
    ...(extra > 0
      ? [{ rule: 'all file descriptors are closed', what: `${extra} more: ${descriptors.after.join(', ')}` }]
      : []),
    ...(memoryGrowth > memoryAllowance
      ? [{ rule: 'memory is bounded', what: `it grew by ${Math.round(memoryGrowth / mib)} MiB` }]
      : []),
  ];
  const alive = oldTokens
    .filter(status => status !== 401)
    .map(status => ({ rule: 'replaced tokens are rejected', what: `one got status ${status}` }));
  return [...idle, ...banned, ...crashed, ...left, ...alive];
}
