import { randomBytes } from 'node:crypto';
import type { TokenId } from '../../../protocol/ids.ts';

/** The token that requested a code; null for the admin token. */
export interface CodeHolder {
  readonly tokenId: TokenId | null;
}

export interface OneTimeCodes {
  make(holder: CodeHolder): string;
  /** Returns the code's holder and invalidates the code; null when it is unknown, used or expired. */
  redeem(code: string): CodeHolder | null;
}

export const codeLastsMs = 600_000;
/** Above this number, the oldest code is dropped. */
const maxCodes = 100;

interface KnownCode {
  readonly holder: CodeHolder;
  readonly until: number;
  readonly adminHash: string;
}

/**
 * Codes live in memory only, so a restart invalidates them. Replacing the admin token, which `adminHash` reveals, invalidates its codes.
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
      if (codes.size > maxCodes && oldest !== undefined) codes.delete(oldest);
      return code;
    },
    redeem(code) {
      const known = codes.get(code);
      codes.delete(code);
      return known !== undefined && isValid(known) ? known.holder : null;
    },
  };
}
