import type { FailureCause } from '../../../protocol/job.ts';

/** What a final report says about the trainer's end. Each part may be null. */
export interface Ending {
  readonly cause: Extract<
    FailureCause,
    'start_failed' | 'invalid_config' | 'rejected' | 'preempted' | 'worker_lost'
  > | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly error: string | null;
}

const memory = /CUDA out of memory|OutOfMemoryError|HIP out of memory|std::bad_alloc/;

/** How SimpleTuner's agent words a trainer's end. A negative code is a signal number (Python's convention). */
const exitedWith = /exited with code (-?\d+)/i;

/** Returns the cause of a failed attempt. */
export function failureCause(ending: Ending): FailureCause {
  if (ending.cause !== null) return ending.cause;
  if (ending.error !== null && memory.test(ending.error)) return 'out_of_memory';
  const code = ending.exitCode ?? numberIn(ending.error);
  // The orchestrator did not request this SIGTERM: a provider takes a spot machine back, or the owner stops it.
  if (ending.signal === 'SIGTERM' || code === -15) return 'preempted';
  if (ending.signal !== null || (code !== null && code < 0)) return 'trainer_signal';
  return 'trainer_exit';
}

function numberIn(error: string | null): number | null {
  const found = error === null ? null : exitedWith.exec(error);
  return found?.[1] === undefined ? null : Number(found[1]);
}
