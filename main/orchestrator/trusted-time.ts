import type { WallMs } from './model.ts';

/** What the clocks of the machine say at one moment. */
export interface ClockReading {
  /** By the wall clock, which people and time servers set. */
  readonly wall: WallMs;
  /** Milliseconds since the machine started, sleep included: nobody sets this one. */
  readonly sinceBoot: number;
  /** Another one after each start of the machine; null where that is not known. */
  readonly bootId: string | null;
}

/** The trusted time at a reading, as it is kept for the next start. */
export interface ClockMark extends Omit<ClockReading, 'wall'> {
  readonly trusted: WallMs;
}

/**
 * The time of day, as far as two clocks agree on it. The wall clock may jump; the time since boot says how much has really passed.
 * While the two disagree, time goes on from where they last agreed.
 */
export interface TrustedTime {
  /** The best estimate of the present: for spans that outlive the process. */
  now(): WallMs;
  /** The present is not before this, by either clock: what is older by this time may be deleted. */
  earliest(): WallMs;
  /** The present is not after this, by either clock: stamps of what will be deleted for its age. */
  latest(): WallMs;
  /** Null while the clocks agree; else how far the wall clock is ahead, negative when it is behind. */
  jumpMs(): number | null;
  /** For the next start. */
  mark(): ClockMark;
}

/** Time servers correct clocks by less than this, ... */
const toleranceMs = 60_000;
/** ... and clocks drift by less than this share of the time that has passed. */
const driftShare = 0.001;
/** How long a machine was off, only the wall clock knows. It is not believed about more than this. */
const maxOffMs = 30 * 86_400_000;

const agrees = (wall: WallMs, expected: WallMs, passedMs: number): boolean =>
  Math.abs(wall - expected) <= toleranceMs + passedMs * driftShare;

/**
 * The trusted time at a start. Within one boot of the machine the time that has passed is known exactly, whatever became of the wall
 * clock. After another boot at least the time since then has passed; the wall clock is believed as long as it says no less
 * than that, and no more than 30 days on top.
 */
function resumeTime(mark: ClockMark | null, now: ClockReading): WallMs {
  if (mark === null) return now.wall;
  const passedMs = now.sinceBoot - mark.sinceBoot;
  if (mark.bootId !== null && mark.bootId === now.bootId && passedMs >= 0) {
    const expected = mark.trusted + passedMs;
    return agrees(now.wall, expected, passedMs) ? now.wall : expected;
  }
  const offMs = now.wall - mark.trusted - now.sinceBoot;
  return offMs < -toleranceMs || offMs > maxOffMs ? mark.trusted + now.sinceBoot : now.wall;
}

/** `read` is asked each time; `mark` is what the last run has kept, null to believe the wall clock. */
export function createTrustedTime(read: () => ClockReading, mark: ClockMark | null): TrustedTime {
  const begun = read();
  const base = resumeTime(mark, begun);
  const look = () => {
    const { wall, sinceBoot, bootId } = read();
    const passedMs = sinceBoot - begun.sinceBoot;
    const expected = base + Math.floor(passedMs);
    const isAgreed = agrees(wall, expected, passedMs);
    return { wall, sinceBoot, bootId, isAgreed, trusted: isAgreed ? wall : expected };
  };
  const within = (choose: (a: number, b: number) => number) => (): WallMs => {
    const { wall, trusted } = look();
    return choose(wall, trusted);
  };
  return {
    now: () => look().trusted,
    earliest: within(Math.min),
    latest: within(Math.max),
    jumpMs() {
      const { wall, trusted, isAgreed } = look();
      return isAgreed ? null : wall - trusted;
    },
    mark() {
      const { trusted, sinceBoot, bootId } = look();
      return { trusted, sinceBoot, bootId };
    },
  };
}
