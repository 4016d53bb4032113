import type { JoinToken, WallMs } from './model.ts';

/**
 * What becomes of a join token that is shown with the hash of a worker token. `join`: it is used now. `repeated`: it was,
 * for this very token, and whoever asks may not have heard the answer.
 */
export type JoinVerdict = 'join' | 'repeated' | 'used' | 'expired';

/**
 * A repetition changes nothing and is answered as long as the row is there, also after its time: the agent that was killed
 * between its call and the answer may be started again days later, and its token is good.
 */
export function judgeJoin(known: JoinToken, tokenHash: string, now: WallMs): JoinVerdict {
  if (known.usedFor !== null) return known.usedFor === tokenHash ? 'repeated' : 'used';
  return now < known.expiresAt ? 'join' : 'expired';
}
