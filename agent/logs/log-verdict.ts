import type { CallFailure } from '../../protocol/client.ts';
import { isRetryable } from '../connection/api-client.ts';

/** What to do after a chunk was rejected: send it again, send a smaller one, or send no more of this log. */
export type LogVerdict = 'again' | 'smaller' | 'older_orchestrator' | 'gone';

/** Conflicts that are temporary. */
const passing = new Set(['restore_under_way', 'not_registered', 'duplicate_registration']);

export function verdictOf(failure: CallFailure): LogVerdict {
  if (isRetryable(failure)) return 'again';
  if (failure.kind === 'unreachable') return 'again';
  const code = failure.kind === 'problem' ? failure.problem.code : null;
  if (code !== null && passing.has(code)) return 'again';
  if (failure.status === 413) return 'smaller';
  if (failure.status === 405 || code === 'route_not_found') return 'older_orchestrator';
  // Only the orchestrator's own response is final, because a proxy may reject a call temporarily.
  return failure.kind === 'unexpected' ? 'again' : 'gone';
}
