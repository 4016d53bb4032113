import { type Loaded, readToken, type TokenSource } from './config.ts';

/** The worker token as it was last read. */
export interface TokenHolder {
  current(): string;
  /** Reads it again; true when there is another one now. */
  reload(): boolean;
  /** Where another one may appear; null for a token that was given as it is. */
  readonly file: string | null;
}

export function openToken(source: TokenSource): Loaded<TokenHolder> {
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
