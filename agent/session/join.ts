import type { CallFailure } from '../../protocol/client.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import { isRetryable, type JoinCall } from '../connection/api-client.ts';
import { createBackoff, pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import { troubleOf } from '../connection/troubles.ts';

export interface JoinDeps {
  readonly clock: Clock;
  readonly call: JoinCall;
  readonly url: string;
  readonly random: () => number;
  readonly onTrouble: (failure: CallFailure) => void;
}

export type Joined =
  | { readonly kind: 'joined'; readonly workerId: WorkerId; readonly name: string }
  /** The join token is invalid. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** The call was refused, and a retry would not help. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'aborted' };

/** Joins with the SHA-256 of the future worker token. Retries until there is a final answer. */
export type Join = (joinToken: string, tokenHash: string, signal: AbortSignal) => Promise<Joined>;

export function createJoin({ clock, call, url, random, onTrouble }: JoinDeps): Join {
  return async (joinToken, tokenHash, signal) => {
    const backoff = createBackoff({ firstMs: 1_000, maxMs: 30_000, random });
    while (!signal.aborted) {
      const result = await call(joinToken, { token_sha256: tokenHash });
      if (result.ok) return { kind: 'joined', workerId: result.value.worker_id, name: result.value.name };
      if (signal.aborted) break;
      const end = endOf(result.failure, url);
      if (end !== null) return end;
      onTrouble(result.failure);
      await pause(clock, 200 + backoff.nextMs(), signal);
    }
    return { kind: 'aborted' };
  };
}

/** Returns null when the call should be retried. Only the orchestrator's own response is final (`register`). */
function endOf(failure: CallFailure, url: string): Joined | null {
  if (failure.kind !== 'problem') return null;
  const { status, problem } = failure;
  if (status === 401) return { kind: 'rejected', message: `Invalid token: ${problem.detail}` };
  if (isRetryable(failure)) return null;
  const message =
    problem.code === 'route_not_found'
      ? `${url} is of a version that knows no join tokens: update it, or give this worker its worker token`
      : troubleOf(failure, url).message;
  return { kind: 'refused', message };
}
