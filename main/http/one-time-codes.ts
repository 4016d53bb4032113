import { randomBytes } from 'node:crypto';
import type { TokenId } from '../../protocol/ids.ts';

/** Who asked for a code, by the token that they asked with; null for the admin token. */
export interface CodeHolder {
  readonly tokenId: TokenId | null;
}

export interface OneTimeCodes {
  make(holder: CodeHolder): string;
  /** Whom the code signs in: once, and while it is young. */
  redeem(code: string): CodeHolder | null;
}

export const codeLastsMs = 600_000;
/** More are not waited for: the oldest is forgotten. */
const mostCodes = 100;

interface KnownCode {
  readonly holder: CodeHolder;
  readonly until: number;
  readonly adminHash: string;
}

/**
 * Codes live in memory: a restart ends them. A code of the admin token ends when that token is replaced, which
 * `adminHash` shows.
 */
export function createOneTimeCodes(now: () => number, adminHash: () => string): OneTimeCodes {
  const codes = new Map<string, KnownCode>();
  const isValid = ({ holder, until, adminHash: madeUnder }: KnownCode): boolean =>
    now() < until && (holder.tokenId !== null || madeUnder === adminHash());
  return {
    make(holder) {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { holder, until: now() + codeLastsMs, adminHash: adminHash() });
      const [oldest] = codes.keys();
      if (codes.size > mostCodes && oldest !== undefined) codes.delete(oldest);
      return code;
    },
    redeem(code) {
      const known = codes.get(code);
      codes.delete(code);
      return known !== undefined && isValid(known) ? known.holder : null;
    },
  };
}
