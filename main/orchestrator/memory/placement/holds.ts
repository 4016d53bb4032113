import { park, unparkAll } from './pending-shapes.ts';
import type { UserQueue, Shape, Waiting } from './shape.ts';

/** Users at their limit. When a line of a held user reaches the front, it is parked until the user is released. */
export interface Holds {
  has(user: string): boolean;
  set(user: string, isHeld: boolean): void;
  /** The first job of a shape whose user is not held. */
  firstFree(shape: Shape): Waiting | undefined;
}

interface Hold {
  isHeld: boolean;
  readonly lines: Set<UserQueue>;
}

export function createHolds(): Holds {
  /** All users that have ever been at their limit: repeated insertion and deletion of a key makes a map slow. */
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
