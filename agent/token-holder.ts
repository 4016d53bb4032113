import { readToken, type TokenSource } from './config.ts';
import type { Loaded } from './loaded.ts';

/** The token that this worker was given, as it was last read: a worker token, or a join token. */
export interface GivenToken {
  current(): string;
  /** Reads it again; true when there is another one now. */
  reload(): boolean;
  /** Where another one may appear; null for a token that was given as it is. */
  readonly file: string | null;
}

/** What a worker calls with. */
export interface TokenHolder extends GivenToken {
  /** The worker token; empty until `ready` has got one for the first time. */
  current(): string;
  /** Turns the join token that was given into a worker token, where that is still to be done. */
  ready(signal: AbortSignal): Promise<Ready>;
  /** Whether the worker token was made on this machine, and is nowhere else. */
  isOwn(): boolean;
}

export type Ready =
  | { readonly kind: 'ready' }
  /** The join token is no good. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** Joining is not possible, and time won't change that. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'aborted' };

export function openToken(source: TokenSource): Loaded<GivenToken> {
  const first = readToken(source);
  if (!first.ok) return first;
  let token = first.value;
  return {
    ok: true,
    value: {
      current: () => token,
      reload() {
        const again = readToken(source);
        if (!again.ok || again.value === token) return false;
        token = again.value;
        return true;
      },
      file: source.kind === 'file' ? source.path : null,
    },
  };
}

/** For a token that is the worker's own already. */
export const holdWorkerToken = (given: GivenToken): TokenHolder => ({
  ...given,
  ready: async () => ({ kind: 'ready' }),
  isOwn: () => false,
});
