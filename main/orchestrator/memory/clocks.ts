import type { MonoMs, WallMs } from '../model.ts';
import type { Clock } from '../ports/index.ts';
import type { SteadyTimes } from '../rules/times.ts';
import type { ClockMark, ClockReading, TrustedTime } from '../ports/system.ts';

/** Maximum correction of the wall clock by a time server. A larger jump is not trusted. */
const toleranceMs = 60_000;
/** Maximum drift of a clock, as a share of the elapsed time. */
const driftShare = 0.001;
/** Maximum time for which the machine may have been off. Only the wall clock measures this time. */
const maxPoweredOffMs = 30 * 86_400_000;

/** Maximum error of the time since boot. A later reading may be smaller than an earlier one by less than this. */
const bootPrecisionMs = 1_000;

const agrees = (wall: WallMs, expected: WallMs, passedMs: number): boolean =>
  Math.abs(wall - expected) <= toleranceMs + passedMs * driftShare;

/**
 * Returns the trusted time at a start. `mark`: the time and clocks that the previous run stored. If the machine was not
 * rebooted since then, the time since boot measures the elapsed time. After a reboot, the elapsed time is at least the time
 * since that boot. Then the wall clock is trusted if it shows at least this elapsed time, and at most 30 days more.
 */
function resumeTime(mark: ClockMark | null, now: ClockReading): WallMs {
  if (mark === null) return now.wall;
  const readMs = now.sinceBoot - mark.sinceBoot;
  if (mark.bootId !== null && mark.bootId === now.bootId && readMs > -bootPrecisionMs) {
    const passedMs = Math.max(0, readMs);
    const expected = mark.trusted + passedMs;
    return agrees(now.wall, expected, passedMs) ? now.wall : expected;
  }
  const offMs = now.wall - mark.trusted - now.sinceBoot;
  return offMs < -toleranceMs || offMs > maxPoweredOffMs ? mark.trusted + now.sinceBoot : now.wall;
}

/**
 * Creates the trusted time. Each query calls `read`. `mark`: the time and clocks that the previous run stored. With null, the
 * current wall clock is trusted.
 */
export function createTrustedTime(read: () => ClockReading, mark: ClockMark | null): TrustedTime {
  const start = read();
  const base = Math.floor(resumeTime(mark, start));
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

/** A clock that stops while this process is paused. So the pause does not count as silence of workers. */
export interface SteadyClock extends Clock {
  start(): void;
  stop(): void;
  /** Records that the machine has slept. Call it only if that is known. */
  noteLongPause(): void;
  /** Whether there was a long pause since the last call. */
  takeLongPause(): boolean;
}

/**
 * Creates the steady clock (docs/internals/semantics.md, section 3). It ticks regularly. A late tick means that the process
 * was paused. Then only one tick interval of the elapsed time counts. A read before the late tick also detects the pause, so
 * that no decision uses a time that includes the pause.
 */
export function createSteadyClock(clock: Clock, times: SteadyTimes): SteadyClock {
  let pausedMs = 0;
  /** The last returned time. The clock never returns an earlier time. */
  let lastReturned = clock.mono();
  let tickedAt = clock.mono();
  let wallTickedAt = clock.wall();
  let longPause = false;
  let cancelTick: (() => void) | null = null;

  const detectPause = (): void => {
    const now = clock.mono();
    const gapMs = now - tickedAt - times.tickMs;
    // The monotonic clock may stop during sleep. Then only the wall clock shows the sleep.
    const sleptMs = clock.wall() - wallTickedAt - (now - tickedAt);
    if (gapMs > times.lateMs) {
      pausedMs = Math.min(pausedMs + gapMs, now - lastReturned);
      tickedAt = now;
      wallTickedAt = clock.wall();
    }
    if (gapMs > times.longPauseMs || sleptMs > times.longPauseMs) {
      longPause = true;
      wallTickedAt = clock.wall();
    }
  };
  const steady = (): MonoMs => {
    detectPause();
    lastReturned = clock.mono() - pausedMs;
    return lastReturned;
  };
  const tick = (): void => {
    detectPause();
    tickedAt = clock.mono();
    wallTickedAt = clock.wall();
    cancelTick = clock.after(times.tickMs, tick);
  };
  /** Node's timers continue during a pause. A timer that fires too early on this clock waits for the remaining time. */
  const after = (ms: number, run: () => void): (() => void) => {
    const due = steady() + ms;
    let cancel: () => void;
    const fire = (): void => {
      const restMs = due - steady();
      if (restMs > 0) cancel = clock.after(restMs, fire);
      else run();
    };
    cancel = clock.after(ms, fire);
    return () => cancel();
  };
  return {
    wall: clock.wall,
    iso: clock.iso,
    mono: steady,
    after,
    start: tick,
    stop: () => cancelTick?.(),
    noteLongPause() {
      detectPause();
      longPause = true;
    },
    takeLongPause() {
      detectPause();
      const hadLongPause = longPause;
      longPause = false;
      return hadLongPause;
    },
  };
}
