import type { Failure } from '../retry/decisions.ts';

/** Returns why a command could not start, as text for people. */
export function startFailure(cause: unknown): string {
  const missing = cause instanceof Error && 'syscall' in cause && /^spawn .*ENOENT/.test(cause.message);
  if (missing && 'path' in cause)
    return `No trainer found: ${String(cause.path)} is not on this machine. Install it, or name another with --trainer`;
  const reason = reasonOf(cause);
  return `The trainer could not be started: ${reason}${isFullDisk(reason) ? '. Make room on the disks of the worker, in --work-dir and in its state folder' : ''}`;
}

export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

export const isFullDisk = (reason: string): boolean => /\b(ENOSPC|EDQUOT)\b/.test(reason);

/** Returns the reason for a failed call, as text for people. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.detail;
    case 'unexpected':
      return failure.detail;
    case 'unreachable':
    case 'disk':
      return reasonOf(failure.cause);
  }
}
