import type { CallFailure } from '../../protocol/client.ts';
import type { RegisterReply, RegistrationBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import { createBackoff, pause } from '../retry/backoff.ts';
import type { Clock } from '../clock.ts';
import type { Registrations } from '../state/registrations.ts';
import { decide } from '../retry/decisions.ts';
import { retry, type RetryAnswer } from '../retry/retry.ts';
import { loopWaits, policyOf } from '../retry/waits.ts';
import type { TokenHolder } from './token-holder.ts';
import { explainFailure } from '../connection/troubles.ts';

export interface RegisterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'register'>;
  readonly url: string;
  readonly token: TokenHolder;
  readonly registrations: Registrations;
  readonly random: () => number;
  readonly log: (message: string) => void;
  readonly onTrouble: (failure: CallFailure) => void;
  /** Another machine is registered as this worker: send nothing more in the worker's name. */
  readonly onDuplicate: () => void;
}

export type Registered =
  | { readonly kind: 'registered'; readonly reply: RegisterReply }
  /** The token is invalid. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** The orchestrator refuses the registration permanently. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'aborted' };

const ownTokenDead =
  'Invalid token: the one with which this worker has joined works no longer. It was rotated, somebody else has joined as this ' +
  'worker since, or the worker was deleted: make a new join command on the orchestrator, and start this worker with that';

/**
 * Registers the worker, and retries until the orchestrator accepts it or refuses it permanently. When a token is rejected, the
 * worker reads its token file again. If any process of this worker has ever been accepted, it waits for a new token in that file,
 * because an admin rotates the token before the file has the new one.
 */
export function createRegister(deps: RegisterDeps) {
  const { clock, api, url, token, registrations, random, log, onTrouble } = deps;
  let count = 0;

  const awaitNewToken = async (signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff(loopWaits.tokenFile);
    log(
      `The orchestrator rejected the token. It was probably rotated: waiting for a new one in ${token.file}`,
    );
    while (await pause(clock, backoff.nextMs(), signal)) if (token.reload()) return;
  };

  /** Registers once, and again with each new token. */
  const send = async (
    introduction: () => RegistrationBody,
    signal: AbortSignal,
  ): Promise<RetryAnswer<Registered, CallFailure>> => {
    while (!signal.aborted) {
      const ready = await token.ready(signal);
      if (ready.kind === 'aborted') break;
      if (ready.kind !== 'ready') {
        if (!registrations.hasAny()) return { ok: true, value: ready };
        // The current token may still be valid; if not, its rejection says what to do.
        log(ready.message);
        continue;
      }
      const result = await api.register({ ...introduction(), registration_no: ++count });
      if (result.ok) {
        registrations.record();
        return { ok: true, value: { kind: 'registered', reply: result.value } };
      }
      if (signal.aborted || decide('register', result.failure) !== 'token') return result;
      if (token.reload()) continue;
      if (token.file === null || !registrations.hasAny()) return result;
      await awaitNewToken(signal);
    }
    return { ok: true, value: { kind: 'aborted' } };
  };

  return async (introduction: () => RegistrationBody, signal: AbortSignal): Promise<Registered> => {
    const end = await retry(() => send(introduction, signal), {
      ...policyOf('register'),
      clock,
      random,
      signal,
      onFailure(failure, decision) {
        if (signal.aborted) return;
        if (decision === 'seldom') deps.onDuplicate();
        if (decision === 'seldom' || decision === 'retry') onTrouble(failure);
      },
    });
    if (end.kind === 'done') return end.value;
    if (end.kind === 'aborted' || signal.aborted) return { kind: 'aborted' };
    const message = explainFailure(end.failure, url);
    if (end.decision === 'stop') return { kind: 'refused', message };
    return { kind: 'rejected', message: token.isOwn() ? ownTokenDead : message };
  };
}
