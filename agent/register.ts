import type { CallFailure } from '../protocol/client.ts';
import type { RegisterReply, RegistrationBody } from '../protocol/worker-api.ts';
import type { ApiClient } from './api-client.ts';
import { createBackoff, pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { TokenHolder } from './token-holder.ts';
import { troubleOf } from './troubles.ts';

export interface RegisterParts {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'register'>;
  readonly url: string;
  readonly token: TokenHolder;
  readonly random: () => number;
  readonly say: (message: string) => void;
  readonly onTrouble: (failure: CallFailure) => void;
}

export type Registered =
  | { readonly kind: 'registered'; readonly reply: RegisterReply }
  | { readonly kind: 'rejected'; readonly message: string }
  | { readonly kind: 'aborted' };

/**
 * Introduces the machine, and tries again until it is known or the token is refused. A token file is looked at again
 * then: when the old token had been good, a new one is waited for, because a rotation comes before its new token.
 */
export function createRegister({ clock, api, url, token, random, say, onTrouble }: RegisterParts) {
  let wasKnown = false;

  const awaitNewToken = async (signal: AbortSignal): Promise<boolean> => {
    const backoff = createBackoff({ firstMs: 1_000, mostMs: 15_000 });
    say(`The token has been rotated: waiting for the new one in ${token.file}`);
    while (await pause(clock, backoff.nextMs(), signal)) {
      if (token.reload()) return true;
    }
    return false;
  };

  return async (introduction: () => RegistrationBody, signal: AbortSignal): Promise<Registered> => {
    const backoff = createBackoff({ firstMs: 1_000, mostMs: 30_000, random });
    while (!signal.aborted) {
      const result = await api.register(introduction());
      if (result.ok) {
        wasKnown = true;
        return { kind: 'registered', reply: result.value };
      }
      const trouble = troubleOf(result.failure, url);
      if (!trouble.rejected) {
        onTrouble(result.failure);
        await pause(clock, 200 + backoff.nextMs(), signal);
      } else if (!token.reload()) {
        if (token.file === null || !wasKnown) return { kind: 'rejected', message: trouble.message };
        await awaitNewToken(signal);
      }
    }
    return { kind: 'aborted' };
  };
}
