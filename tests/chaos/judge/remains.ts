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
  /** Growth of the orchestrator's memory in bytes. */
  readonly memoryGrowth: number;
  /** The HTTP statuses of calls with replaced tokens. */
  readonly oldTokens: readonly number[];
}

const mib = 1_048_576;
/** Heaps do not shrink immediately after the run, so the memory may have grown by this many bytes. */
const maxMemoryGrowth = 256 * mib;

/** Checks that all workers are idle and in service, and that the run left no processes, descriptors, memory or old tokens. */
export function judgeRemains(remains: Remains): readonly Violation[] {
  const { workers, exits, processes, descriptors, memoryGrowth, oldTokens } = remains;
  const notIdle = workers
    .filter(worker => worker.status !== 'idle' || worker.current_job_id !== null)
    .map(({ name, status, status_reason: reason, current_job_id: job }) => ({
      rule: 'workers are idle at the end',
      what: `${name} is ${status} (${reason}) with the job ${job}`,
    }));
  const quarantined = workers.flatMap(({ name, quarantine }) =>
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
  const resources: Violation[] = processes.map(what => ({ rule: 'no process outlives the run', what }));
  const extra = descriptors.after.length - descriptors.before;
  if (extra > 0) {
    const what = `${extra} more: ${descriptors.after.join(', ')}`;
    resources.push({ rule: 'all file descriptors are closed', what });
  }
  if (memoryGrowth > maxMemoryGrowth) {
    const what = `the memory of the orchestrator grew by ${Math.round(memoryGrowth / mib)} MiB`;
    resources.push({ rule: 'memory is bounded', what });
  }
  const acceptedTokens = oldTokens
    .filter(status => status !== 401)
    .map(status => ({
      rule: 'replaced tokens are rejected',
      what: `a call with a replaced token returned status ${status}`,
    }));
  return [...notIdle, ...quarantined, ...crashed, ...resources, ...acceptedTokens];
}
