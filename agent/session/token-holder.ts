import { readToken, type TokenSource } from '../config/index.ts';
import type { Loaded } from '../files/loaded.ts';

/** The token that the worker was given, as last read: a worker token or a join token. */
export interface GivenToken {
  current(): string;
  /** Reads the token again. Returns true when it has changed. */
  reload(): boolean;
  /** File in which a new token can appear; null for a token that was given as text. */
  readonly file: string | null;
}

/** The token that the worker uses for its calls. */
export interface TokenHolder extends GivenToken {
  /** The worker token; empty until `ready` has succeeded for the first time. */
  current(): string;
  /** Exchanges a given join token for a worker token, unless that has been done. */
  ready(signal: AbortSignal): Promise<Ready>;
  /** Whether the worker token was made on this machine and exists nowhere else. */
  isOwn(): boolean;
}

export type Ready =
  | { readonly kind: 'ready' }
  /** The join token is invalid. */
  | { readonly kind: 'rejected'; readonly message: string }
  /** The orchestrator permanently refuses to let this worker join. */
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

/** For a token that is already a worker token. */
export const holdWorkerToken = (given: GivenToken): TokenHolder => ({
  ...given,
  ready: async () => ({ kind: 'ready' }),
  isOwn: () => false,
});
