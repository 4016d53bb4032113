import type { CallFailure } from '../protocol/client.ts';
import type { RenewCall } from './api-client.ts';
import { rotatedCode } from './storage-verdict.ts';

export interface Failed {
  readonly ok: false;
  readonly failure: CallFailure;
}
/** A failure is a value. */
export type Answered<T> = { readonly ok: true; readonly value: T } | Failed;

/** Makes each call with the newest upload token, and repeats it once with a new one after a rotation. */
export function createRenewing(firstToken: string, renew: RenewCall) {
  let token = firstToken;
  return async <T>(
    signal: AbortSignal,
    ask: (headers: Readonly<Record<string, string>>) => Promise<Answered<T>>,
  ): Promise<Answered<T>> => {
    const used = token;
    const answer = await ask({ 'x-upload-token': used });
    if (answer.ok || !mayBeRotated(answer.failure)) return answer;
    // Another call may have renewed it meanwhile.
    if (token === used) token = (await renew(used, signal)) ?? used;
    return token === used ? answer : ask({ 'x-upload-token': token });
  };
}

/** The refusal of a HEAD has no code. */
const mayBeRotated = (failure: CallFailure): boolean =>
  failure.kind === 'problem'
    ? failure.problem.code === rotatedCode
    : failure.kind === 'unexpected' && failure.status === 401;
