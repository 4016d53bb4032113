import type { CallFailure } from '../../protocol/client.ts';
import type { RenewCall } from '../connection/api-client.ts';
import type { RetryAnswer } from '../retry/retry.ts';

/** The result of a call; a failure is a value and not an exception. */
export type Answered<T> = RetryAnswer<T, CallFailure>;
export type Failed = Extract<Answered<never>, { readonly ok: false }>;

/**
 * Adds the current upload token to each call. A rotation of the worker token invalidates the upload token. In that
 * case, renews the upload token and retries the call once.
 */
export function createTokenRenewal(firstToken: string, renew: RenewCall) {
  let token = firstToken;
  return async <T>(
    signal: AbortSignal,
    call: (headers: Readonly<Record<string, string>>) => Promise<Answered<T>>,
  ): Promise<Answered<T>> => {
    const used = token;
    const answer = await call({ 'x-upload-token': used });
    if (answer.ok || !mayBeRotated(answer.failure)) return answer;
    // Another call may have renewed the token during this call.
    if (token === used) token = (await renew(used, signal)) ?? used;
    return token === used ? answer : call({ 'x-upload-token': token });
  };
}

/**
 * Whether a failure may mean a rotated token. The response to a HEAD has no problem code, so any 401 without a problem
 * code counts.
 */
const mayBeRotated = (failure: CallFailure): boolean =>
  failure.kind === 'problem'
    ? failure.problem.code === 'upload_token_rotated'
    : failure.kind === 'unexpected' && failure.status === 401;
