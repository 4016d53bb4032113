import type { WallMs } from '../model.ts';

/** The machine's clocks at one moment. */
export interface ClockReading {
  /** The wall clock, which people and time servers set. */
  readonly wall: WallMs;
  /** Milliseconds since the machine booted, including sleep. Nobody sets this clock. */
  readonly sinceBoot: number;
  /** Changes with each boot of the machine; null if unknown. */
  readonly bootId: string | null;
}

/** The trusted time at a reading, as stored for the next start. */
export interface ClockMark extends Omit<ClockReading, 'wall'> {
  readonly trusted: WallMs;
}

/**
 * The time of day, checked with two clocks. The wall clock may jump; the time since boot shows how much time really
 * passed. While the two disagree, the trusted time continues from where they last agreed.
 */
export interface TrustedTime {
  /** The best estimate of the current time, for spans that outlive the process. */
  now(): WallMs;
  /** The earlier of the two clocks' times. Use it to decide what is old enough to delete. */
  earliest(): WallMs;
  /** The later of the two clocks' times. Use it to stamp what will be deleted for its age. */
  latest(): WallMs;
  /** By how many ms the wall clock is ahead, negative when it is behind; null while the clocks agree. */
  jumpMs(): number | null;
  /** The mark to store for the next start. */
  mark(): ClockMark;
}

/** Time servers correct clocks by less than this. */
const toleranceMs = 60_000;
/** Clocks drift by less than this share of the elapsed time. */
const driftShare = 0.001;
/** Only the wall clock shows how long a machine was off. It is trusted up to this much. */
const maxOffMs = 30 * 86_400_000;

const agrees = (wall: WallMs, expected: WallMs, passedMs: number): boolean =>
  Math.abs(wall - expected) <= toleranceMs + passedMs * driftShare;

/**
 * The trusted time at a start. Within one boot of the machine, the elapsed time is known exactly, whatever the wall
 * clock shows. After another boot, at least the time since that boot has passed. The wall clock is trusted if it shows
 * no less than that, and at most 30 days more.
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

/** Calls `read` for every query. `mark`: what the last run stored; null trusts the wall clock. */
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
