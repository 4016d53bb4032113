import type { CallFailure } from '../../protocol/client.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { JoinCall } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import { explainFailure } from '../connection/troubles.ts';
import { describeFailure } from '../files/failure-text.ts';
import { retry } from '../retry/retry.ts';
import { policyOf } from '../retry/waits.ts';

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
    const end = await retry(() => call(joinToken, { token_sha256: tokenHash }), {
      ...policyOf('join'),
      clock,
      random,
      signal,
      onFailure(failure, decision) {
        if (decision === 'retry' && !signal.aborted) onTrouble(failure);
      },
    });
    if (end.kind === 'done') return { kind: 'joined', workerId: end.value.worker_id, name: end.value.name };
    if (end.kind === 'aborted' || signal.aborted) return { kind: 'aborted' };
    const { failure, decision } = end;
    return decision === 'rejected'
      ? { kind: 'rejected', message: `Invalid token: ${describeFailure(failure)}` }
      : { kind: 'refused', message: refusalOf(failure, url) };
  };
}

const refusalOf = (failure: CallFailure, url: string): string =>
  failure.kind === 'problem' && failure.problem.code === 'route_not_found'
    ? `${url} is of a version that knows no join tokens: update it, or give this worker its worker token`
    : explainFailure(failure, url);
