import type { CallFailure } from '../../protocol/client.ts';

export const rotatedCode = 'upload_token_rotated';

/**
 * What a failed call about a file means. `later`: the same call may succeed. `over`: the attempt may not upload now. `closed`: it never
 * may again. `no_room`: smaller files may fit now, and this one later. `elsewhere`: the server expects another byte of the upload.
 * `refused`: the server rejects this file.
 */
export type StorageVerdict = 'later' | 'over' | 'closed' | 'no_room' | 'elsewhere' | 'refused';

export function storageVerdict(failure: CallFailure): StorageVerdict {
  if (failure.kind === 'unreachable') return 'later';
  const { kind, status } = failure;
  if (status === 401) return verdictOnToken(kind === 'problem' ? failure.problem.code : null);
  if (status === 413 || status === 507) return 'no_room';
  if (status === 409) return 'elsewhere';
  // Only the orchestrator's own response is final. A proxy may refuse for a temporary reason.
  const isPassing = kind === 'unexpected' || status === 408 || status === 429 || status >= 500;
  return isPassing ? 'later' : 'refused';
}

/** A rotated upload token is renewed as soon as the worker has its own new token, so the same call may succeed later. */
function verdictOnToken(code: string | null): StorageVerdict {
  if (code === rotatedCode) return 'later';
  return code === 'uploads_closed' ? 'closed' : 'over';
}

/** Returns the reason for a failure, as text for people. */
export function wordsOfFailure(failure: CallFailure): string {
  switch (failure.kind) {
    case 'problem':
      return failure.problem.detail;
    case 'unexpected':
      return failure.detail;
    case 'unreachable':
      return failure.cause instanceof Error ? failure.cause.message : String(failure.cause);
  }
}
