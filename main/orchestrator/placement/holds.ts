import { park, unparkAll } from './lines.ts';
import type { Line, Shape, Waiting } from './shape.ts';

/** Who is at their limit. Their lines get out of the way when they are found in front: each once, until they are let go. */
export interface Holds {
  has(user: string): boolean;
  set(user: string, isHeld: boolean): void;
  /** The first in a shape whose user is not held. */
  firstFree(shape: Shape): Waiting | undefined;
}

interface Hold {
  isHeld: boolean;
  readonly lines: Set<Line>;
}

export function createHolds(): Holds {
  /** Of everybody who has ever been at their limit: a key that comes and goes makes a map slow. */
  const holds = new Map<string, Hold>();
  return {
    has: user => holds.get(user)?.isHeld === true,
    set(user, isHeld) {
      const hold = holds.get(user) ?? { isHeld, lines: new Set() };
      holds.set(user, hold);
      hold.isHeld = isHeld;
      if (!isHeld) unparkAll(hold.lines);
    },
    firstFree({ heads }) {
      for (let head = heads.first(); head !== undefined; head = heads.first()) {
        const { line } = head.job;
        const hold = holds.get(line.user);
        if (hold?.isHeld !== true) return head.job;
        park(line, hold.lines);
      }
      return undefined;
    },
  };
}
