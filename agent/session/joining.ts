import { createHash, randomBytes } from 'node:crypto';
import { joinTokenPrefix } from '../../protocol/worker-api.ts';
import { describeFailure, reasonOf } from '../files/failure-text.ts';
import type { GivenToken, OwnToken, OwnTokenBook, Ready, TokenHolder } from './worker-token.ts';
import type { CallFailure } from '../../protocol/client.ts';
import type { WorkerId } from '../../protocol/ids.ts';
import type { JoinCall } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import { explainFailure } from '../connection/connection-warnings.ts';
import { retry } from '../retry/retry.ts';
import { policyOf } from '../retry/decisions.ts';

interface JoinDeps {
  readonly clock: Clock;
  readonly call: JoinCall;
  readonly url: string;
  readonly random: () => number;
  readonly onTrouble: (failure: CallFailure) => void;
}

type Joined =
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
    ? `${url} runs a version without join tokens. Update it, or use a worker token`
    : explainFailure(failure, url);

export interface JoiningDeps {
  readonly givenToken: GivenToken;
  readonly ownTokens: OwnTokenBook;
  readonly join: Join;
  readonly log: (message: string) => void;
  /** Fires when joining should stop. */
  readonly over: AbortSignal;
}

/**
 * Uses a worker token as it was given. Exchanges a join token for a worker token that this machine creates; the call
 * sends only the hash of the new token. A join token works once, but may stay in the environment. After a restart, the
 * worker uses the token from the exchange.
 */
export function createJoining({ givenToken, ownTokens, join, log, over }: JoiningDeps): TokenHolder {
  let token = '';
  /** The join token that is to be exchanged; null when there is none. */
  let toJoin: string | null = null;
  let joinInProgress: { readonly joinToken: string; readonly answer: Promise<Ready> } | null = null;
  const applyToken = (value: string): void => {
    const isToJoin = value.startsWith(joinTokenPrefix);
    const joined = isToJoin ? joinedWith(ownTokens.read(), sha256(value)) : null;
    toJoin = isToJoin && joined === null ? value : null;
    if (toJoin === null) token = joined?.token ?? value;
  };
  /** Uses the new token, unless another token was given during the exchange. The token given last counts. */
  const useOwnToken = (ownToken: OwnToken, joinToken: string): Ready => {
    if (toJoin === joinToken) applyToken(ownToken.token);
    return { kind: 'ready' };
  };

  const obtain = async (joinToken: string): Promise<Ready> => {
    const joinHash = sha256(joinToken);
    const stored = ownTokens.read();
    if (!stored.ok) return { kind: 'refused', message: stored.message };
    const { joined, pending } = stored.value;
    // An earlier join call may have succeeded or not. The same call with the same token gets the same answer.
    const isPending = pending?.joinHash === joinHash;
    const ownToken = isPending ? pending : { joinHash, token: newWorkerToken() };
    try {
      // Save the token before the call: if this process dies, the orchestrator may already know the token.
      if (!isPending) ownTokens.keep({ joined, pending: ownToken });
    } catch (cause) {
      return { kind: 'refused', message: `The worker's token can't be kept: ${reasonOf(cause)}` };
    }
    const answer = await join(joinToken, sha256(ownToken.token), over);
    if (answer.kind !== 'joined') return answer;
    conclude(answer, ownToken);
    return useOwnToken(ownToken, joinToken);
  };
  const conclude = ({ name, workerId }: Extract<Joined, { kind: 'joined' }>, ownToken: OwnToken): void => {
    try {
      ownTokens.keep({ joined: ownToken, pending: null });
    } catch {
      // The token is on disk as pending, and the next start joins with it again.
    }
    log(`Joined as ${name} (${workerId}), with a token that exists only on this machine`);
  };
  const begin = (joinToken: string) => ({
    joinToken,
    answer: obtain(joinToken).finally(() => {
      joinInProgress = null;
    }),
  });

  applyToken(givenToken.current());
  return {
    current: () => token,
    isOwn() {
      const stored = ownTokens.read();
      return (
        stored.ok && [stored.value.joined, stored.value.pending].some(ownToken => ownToken?.token === token)
      );
    },
    file: givenToken.file,
    reload() {
      if (!givenToken.reload()) return false;
      applyToken(givenToken.current());
      return true;
    },
    async ready(signal) {
      while (toJoin !== null) {
        joinInProgress ??= begin(toJoin);
        const { joinToken } = joinInProgress;
        const answer = await Promise.race([joinInProgress.answer, aborted(signal)]);
        if (answer.kind === 'aborted') return answer;
        // The worker has joined, or another token was given during the exchange.
        if (answer.kind === 'ready' || toJoin !== joinToken) continue;
        // Keep the previous token, which may still be valid.
        if (token !== '') toJoin = null;
        return answer;
      }
      return { kind: 'ready' };
    },
  };
}

const joinedWith = (stored: ReturnType<OwnTokenBook['read']>, joinHash: string): OwnToken | null =>
  stored.ok && stored.value.joined?.joinHash === joinHash ? stored.value.joined : null;

const newWorkerToken = (): string => `wt_${randomBytes(32).toString('base64url')}`;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const aborted = (signal: AbortSignal): Promise<Ready> =>
  new Promise(resolve => {
    const leave = (): void => resolve({ kind: 'aborted' });
    if (signal.aborted) leave();
    else signal.addEventListener('abort', leave, { once: true });
  });
