import { randomBytes } from 'node:crypto';

export interface OneTimeCodes {
  make(user: string): string;
  /** Whom the code signs in: once, and while it is young. */
  redeem(code: string): string | null;
}

export const codeLastsMs = 600_000;
/** More are not waited for: the oldest is forgotten. */
const mostCodes = 100;

/** Codes live in memory: a restart ends them. */
export function createOneTimeCodes(now: () => number): OneTimeCodes {
  const codes = new Map<string, { readonly user: string; readonly until: number }>();
  return {
    make(user) {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { user, until: now() + codeLastsMs });
      const [oldest] = codes.keys();
      if (codes.size > mostCodes && oldest !== undefined) codes.delete(oldest);
      return code;
    },
    redeem(code) {
      const known = codes.get(code);
      codes.delete(code);
      return known !== undefined && now() < known.until ? known.user : null;
    },
  };
}
