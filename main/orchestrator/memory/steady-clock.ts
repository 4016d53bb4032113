import type { MonoMs } from '../model.ts';
import type { Clock } from '../ports/index.ts';
import type { SteadyTimes } from '../rules/times.ts';

/** A clock that stands still while this process is paused, so that its own pauses count against no worker. */
export interface SteadyClock extends Clock {
  start(): void;
  stop(): void;
  /** Records that the machine has slept, for however long. The caller must know that. */
  noteLongPause(): void;
  /** Returns whether there was a long pause since the last call. */
  takeLongPause(): boolean;
}

/**
 * Ticks, and counts at most one tick of the time before a late tick (docs/internals/semantics.md, section 3). The first
 * read after a pause detects it, so that no decision uses a time that includes the pause.
 */
export function createSteadyClock(clock: Clock, times: SteadyTimes): SteadyClock {
  let pausedMs = 0;
  /** The last time that was returned. The clock never goes back before it. */
  let lastReturned = clock.mono();
  let tickedAt = clock.mono();
  let wallTickedAt = clock.wall();
  let longPause = false;
  let cancelTick: (() => void) | null = null;

  const notice = (): void => {
    const now = clock.mono();
    const gapMs = now - tickedAt - times.tickMs;
    // Sleep may stop the monotonic clock; then only the wall clock shows it.
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
    notice();
    lastReturned = clock.mono() - pausedMs;
    return lastReturned;
  };
  const tick = (): void => {
    notice();
    tickedAt = clock.mono();
    wallTickedAt = clock.wall();
    cancelTick = clock.after(times.tickMs, tick);
  };
  /** The machine's timers continue during a pause. A timer that fires too early waits for the rest. */
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
      notice();
      longPause = true;
    },
    takeLongPause() {
      notice();
      const found = longPause;
      longPause = false;
      return found;
    },
  };
}
