import { createTrustedTime } from '../../main/orchestrator/index.ts';
import type { Clock, ClockMark, TrustedTime } from '../../main/orchestrator/ports.ts';

/** Time that stands still until it is moved. */
export interface VirtualClock extends Clock {
  /** Lets all that needs no time to pass finish: promises, queued group commits, timers that are due. */
  settle(): Promise<void>;
  /** Moves time on by `ms`. Timers run in the order in which they are due, each on time and settled before the next. */
  advance(ms: number): Promise<void>;
  /** Sets the wall clock alone, forward or back, as its owner or a time server does; forward, too, as sleep does. */
  shiftWall(ms: number): void;
  /** As SIGSTOP: time passes, and no timer runs before all of it has. */
  pause(ms: number): Promise<void>;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** 2026-01-01, noon. */
const startWall = Date.UTC(2026, 0, 1, 12);

/** As many turns without a pause mean that something wakes itself up for ever. */
const endless = 100_000;

/**
 * `isBusy` says that a queued commit is still to come; without it, `settle` gives each a few turns: as many as
 * `quietTurns`, which may be one where nothing else takes a turn of its own.
 */
export function createVirtualClock(isBusy: () => boolean = () => false, quietTurns = 3): VirtualClock {
  // Far from zero and from the wall clock, so that a mix-up of the two shows.
  let mono = 5_000_000;
  let wallOffset = startWall - mono;
  const timers = new Set<Timer>();

  const nextDue = (until: number): number | null =>
    [...timers].reduce<number | null>(
      (soonest, { at }) => (at <= until && (soonest === null || at < soonest) ? at : soonest),
      null,
    );

  /** Timers of one instant run in the order of their making, unless an earlier one takes a later one back. */
  const runDue = (at: number): void => {
    for (const timer of [...timers].filter(candidate => candidate.at <= at)) {
      if (timers.delete(timer)) timer.run();
    }
  };

  const settle = async (): Promise<void> => {
    let quiet = 0;
    for (let turn = 0; quiet < quietTurns; turn++) {
      if (turn === endless)
        throw new Error('the clock never comes to rest: something wakes itself up for ever');
      const due = nextDue(mono);
      if (due !== null) runDue(due);
      await new Promise<void>(resolve => {
        setImmediate(resolve);
      });
      quiet = due !== null || isBusy() ? 0 : quiet + 1;
    }
  };

  return {
    // As Date.now(): whole milliseconds, whatever the timers were set to.
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

/** The trusted time of a process on a machine that is started once. */
export const trustedTimeOf = (
  clock: Pick<Clock, 'wall' | 'mono'>,
  mark: ClockMark | null = null,
): TrustedTime =>
  createTrustedTime(() => ({ wall: clock.wall(), sinceBoot: clock.mono(), bootId: 'the only one' }), mark);
