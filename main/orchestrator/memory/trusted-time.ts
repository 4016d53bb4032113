import type { WallMs } from '../model.ts';
import type { ClockMark, ClockReading, TrustedTime } from '../ports/clock.ts';

/** Time servers correct clocks by less than this. */
const toleranceMs = 60_000;
/** Clocks drift by less than this share of the elapsed time. */
const driftShare = 0.001;
/** Only the wall clock shows how long the machine was off. A longer time than this is not trusted. */
const maxPoweredOffMs = 30 * 86_400_000;

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
  return offMs < -toleranceMs || offMs > maxPoweredOffMs ? mark.trusted + now.sinceBoot : now.wall;
}

/** Calls `read` for every query. `mark`: what the previous run stored; null trusts the wall clock. */
export function createTrustedTime(read: () => ClockReading, mark: ClockMark | null): TrustedTime {
  const start = read();
  const base = resumeTime(mark, start);
  const readClocks = () => {
    const { wall, sinceBoot, bootId } = read();
    const passedMs = sinceBoot - start.sinceBoot;
    const expected = base + Math.floor(passedMs);
    const isAgreed = agrees(wall, expected, passedMs);
    return { wall, sinceBoot, bootId, isAgreed, trusted: isAgreed ? wall : expected };
  };
  const boundBy = (choose: (a: number, b: number) => number) => (): WallMs => {
    const { wall, trusted } = readClocks();
    return choose(wall, trusted);
  };
  return {
    now: () => readClocks().trusted,
    earliest: boundBy(Math.min),
    latest: boundBy(Math.max),
    jumpMs() {
      const { wall, trusted, isAgreed } = readClocks();
      return isAgreed ? null : wall - trusted;
    },
    mark() {
      const { trusted, sinceBoot, bootId } = readClocks();
      return { trusted, sinceBoot, bootId };
    },
  };
}
