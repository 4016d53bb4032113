import type { MonoMs } from './model.ts';
import type { Clock } from './ports.ts';

export interface SteadyTimes {
  /** How often a running process takes note of itself. */
  readonly tickMs: number;
  /** A tick that comes later than this was held up: by sleep, SIGSTOP, a blocked disk. */
  readonly lateMs: number;
  /** After a pause longer than this everybody gets a whole grace anew. */
  readonly longPauseMs: number;
}

/** A clock that stands still while this process does: its own pauses are never held against anybody. */
export interface SteadyClock extends Clock {
  start(): void;
  stop(): void;
  /** The machine has slept, however long: told by who knows. */
  noteLongPause(): void;
  /** Whether there was a long pause since this was last asked. */
  takeLongPause(): boolean;
}

/**
 * Ticks, and counts no more than one tick of the time between two of them when the second is late (docs/internals/semantics.md,
 * section 3). Whoever looks first after a pause finds it out, so that nothing is decided on a time that includes it.
 */
export function createSteadyClock(clock: Clock, times: SteadyTimes): SteadyClock {
  let pausedMs = 0;
  /** What was last told: time never goes back behind it. */
  let told = clock.mono();
  let tickedAt = clock.mono();
  let wallTickedAt = clock.wall();
  let longPause = false;
  let cancelTick: (() => void) | null = null;

  const notice = (): void => {
    const now = clock.mono();
    const gapMs = now - tickedAt - times.tickMs;
    // A machine that sleeps stops the first of these clocks, and only the other one shows it.
    const sleptMs = clock.wall() - wallTickedAt - (now - tickedAt);
    if (gapMs > times.lateMs) {
      pausedMs = Math.min(pausedMs + gapMs, now - told);
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
    told = clock.mono() - pausedMs;
    return told;
  };
  const tick = (): void => {
    notice();
    tickedAt = clock.mono();
    wallTickedAt = clock.wall();
    cancelTick = clock.after(times.tickMs, tick);
  };
  /** Timers of the machine run on during a pause: one that fires too early here waits for the rest. */
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
