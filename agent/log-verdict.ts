import type { CallFailure } from '../protocol/client.ts';
import { isRetryable } from './api-client.ts';

/** What a chunk that was not taken calls for: the same again, a smaller one, or no more of this log. */
export type LogVerdict = 'again' | 'smaller' | 'older_orchestrator' | 'gone';

/** Conflicts of the moment. */
const passing = new Set(['restore_under_way', 'not_registered', 'duplicate_registration']);

export function verdictOf(failure: CallFailure): LogVerdict {
  if (isRetryable(failure)) return 'again';
  if (failure.kind === 'unreachable') return 'again';
  const code = failure.kind === 'problem' ? failure.problem.code : null;
  if (code !== null && passing.has(code)) return 'again';
  if (failure.status === 413) return 'smaller';
  if (failure.status === 405 || code === 'route_not_found') return 'older_orchestrator';
  // Only an orchestrator's own word counts for good: a proxy may refuse for reasons of the moment.
  return failure.kind === 'unexpected' ? 'again' : 'gone';
}
