import type { CallFailure } from '../../protocol/client.ts';
import type { RegisterReply, RegistrationBody } from '../../protocol/worker-api.ts';
import type { ApiClient } from '../connection/api-client.ts';
import { createBackoff, pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';
import type { Registrations } from '../state/registrations.ts';
import type { TokenHolder } from './token-holder.ts';
import { troubleOf } from '../connection/troubles.ts';

export interface RegisterDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'register'>;
  readonly url: string;
  readonly token: TokenHolder;
  readonly registrations: Registrations;
  readonly random: () => number;
  readonly say: (message: string) => void;
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

/** How to react to a failed registration. */
type Verdict = 'again' | 'now_and_then' | 'new_token' | 'never';

function verdictOf(failure: CallFailure): Verdict {
  if (failure.kind === 'unreachable') return 'again';
  if (failure.status === 401) return 'new_token';
  // Only the orchestrator's own response is final. A proxy may refuse for a temporary reason.
  if (failure.kind === 'unexpected') return 'again';
  if (failure.status === 400 || failure.status === 403) return 'never';
  return failure.status === 409 ? 'now_and_then' : 'again';
}

const ownTokenDead =
  'Invalid token: the one with which this worker has joined works no longer. It was rotated, somebody else has joined as this ' +
  'worker since, or the worker was deleted: make a new join command on the orchestrator, and start this worker with that';

/**
 * Registers the worker, and retries until the orchestrator accepts it or refuses it permanently. When a token is rejected, the
 * worker reads its token file again. If any process of this worker has ever been accepted, it waits for a new token in that file,
 * because an admin rotates the token before the file has the new one.
 */
export function createRegister(parts: RegisterDeps) {
  const { clock, api, url, token, registrations, random, say, onTrouble } = parts;
  let count = 0;

  const awaitNewToken = async (signal: AbortSignal): Promise<void> => {
    const backoff = createBackoff({ firstMs: 1_000, maxMs: 15_000 });
    say(
      `The orchestrator rejected the token. It was probably rotated: waiting for a new one in ${token.file}`,
    );
    while (await pause(clock, backoff.nextMs(), signal)) if (token.reload()) return;
  };

  return async (introduction: () => RegistrationBody, signal: AbortSignal): Promise<Registered> => {
    const soon = createBackoff({ firstMs: 1_000, maxMs: 30_000, random });
    const later = createBackoff({ firstMs: 15_000, maxMs: 60_000, random });
    while (!signal.aborted) {
      const ready = await token.ready(signal);
      if (ready.kind === 'aborted') break;
      if (ready.kind !== 'ready') {
        if (!registrations.hasAny()) return ready;
        // The current token may still be valid; if not, its rejection says what to do.
        say(ready.message);
        continue;
      }
      const result = await api.register({ ...introduction(), registration_no: ++count });
      if (result.ok) {
        registrations.record();
        return { kind: 'registered', reply: result.value };
      }
      if (signal.aborted) break;
      const { failure } = result;
      const { message } = troubleOf(failure, url);
      switch (verdictOf(failure)) {
        case 'never':
          return { kind: 'refused', message };
        case 'new_token':
          if (token.reload()) break;
          if (token.file === null || !registrations.hasAny())
            return { kind: 'rejected', message: token.isOwn() ? ownTokenDead : message };
          await awaitNewToken(signal);
          break;
        case 'now_and_then':
          parts.onDuplicate();
          onTrouble(failure);
          await pause(clock, 5_000 + later.nextMs(), signal);
          break;
        case 'again':
          onTrouble(failure);
          await pause(clock, 200 + soon.nextMs(), signal);
      }
    }
    return { kind: 'aborted' };
  };
}
