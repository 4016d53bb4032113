import type { JoinToken, WallMs } from '../model.ts';

/**
 * The result of presenting a join token together with the hash of a worker token. `join`: it is used now. `repeated`:
 * it was used for this same worker token, and the agent may have missed the response.
 */
export type JoinVerdict = 'join' | 'repeated' | 'used' | 'expired';

/**
 * A repeat changes nothing, and is accepted even after the expiry: an agent that was killed before it got the response
 * may be started again days later, and its token is valid.
 */
export function judgeJoin(known: JoinToken, tokenHash: string, now: WallMs): JoinVerdict {
  if (known.usedFor !== null) return known.usedFor === tokenHash ? 'repeated' : 'used';
  return now < known.expiresAt ? 'join' : 'expired';
}
