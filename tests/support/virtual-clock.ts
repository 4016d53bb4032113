import { createTrustedTime } from '../../main/orchestrator/index.ts';
import type { Clock, ClockMark, TrustedTime } from '../../main/orchestrator/ports/index.ts';

/** A clock that moves only when a test moves it. */
export interface VirtualClock extends Clock {
  /** Runs all work that is due now: promises, queued group commits, and timers. */
  settle(): Promise<void>;
  /** Advances time by `ms`. Timers run in order, each at its due time, and the work of each timer is finished before the next. */
  advance(ms: number): Promise<void>;
  /** Shifts only the wall clock, forward or back, as a user, a time server or a sleep of the machine does. */
  shiftWall(ms: number): void;
  /** Simulates SIGSTOP: timers run only after all of this time has passed. */
  pause(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** 2026-01-01, noon UTC. */
const startWall = Date.UTC(2026, 0, 1, 12);

/** Maximum number of turns in `settle`. More turns mean that some code reschedules itself forever. */
const maxTurns = 100_000;

/**
 * `isBusy`: returns true while a queued commit is pending. `quietTurns`: number of turns of the event loop without work after
 * which `settle` returns; 1 is enough if no code waits for a turn of the event loop.
 */
export function createVirtualClock(isBusy: () => boolean = () => false, quietTurns = 3): VirtualClock {
  // The start is far from zero and from the wall clock, so that tests fail if code confuses the two clocks.
  let mono = 5_000_000;
  let wallOffset = startWall - mono;
  const timers = new Set<Timer>();

  const nextDue = (until: number): number | null =>
    [...timers].reduce<number | null>(
      (soonest, { at }) => (at <= until && (soonest === null || at < soonest) ? at : soonest),
      null,
    );

  /** Timers with the same due time run in the order of their creation. A timer can cancel later timers. */
  const runDue = (at: number): void => {
    for (const timer of [...timers].filter(candidate => candidate.at <= at)) {
      if (timers.delete(timer)) timer.run();
    }
  };

  const settle = async (): Promise<void> => {
    let quiet = 0;
    for (let turn = 0; quiet < quietTurns; turn++) {
      if (turn === maxTurns) throw new Error('the work never ends: some code reschedules itself forever');
      const due = nextDue(mono);
      if (due !== null) runDue(due);
      await new Promise<void>(resolve => {
        setImmediate(resolve);
      });
      quiet = due !== null || isBusy() ? 0 : quiet + 1;
    }
  };

  return {
    // Whole milliseconds like Date.now(), although timers may use fractions.
    wall: () => Math.floor(mono + wallOffset),
    mono: () => mono,
    iso: at => new Date(at).toISOString(),
    after(ms, run) {
      const timer: Timer = { at: mono + Math.max(0, ms), run };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    settle,
    async advance(ms) {
      await settle();
      const target = mono + ms;
      for (let due = nextDue(target); due !== null; due = nextDue(target)) {
        mono = Math.max(mono, due);
        await settle();
      }
      mono = target;
    },
    shiftWall(ms) {
      wallOffset += ms;
    },
    async pause(ms) {
      await settle();
      mono += ms;
      await settle();
    },
  };
}

/** Creates the trusted time of a process on a machine that does not reboot. */
export const trustedTimeOf = (
  clock: Pick<Clock, 'wall' | 'mono'>,
  mark: ClockMark | null = null,
): TrustedTime =>
  createTrustedTime(() => ({ wall: clock.wall(), sinceBoot: clock.mono(), bootId: 'the only one' }), mark);
