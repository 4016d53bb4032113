import { readFileSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { createTrustedTime } from '../orchestrator/index.ts';
import type { Clock, ClockMark, ClockReading, Log, TrustedTime } from '../orchestrator/ports/index.ts';
import { writeWhole } from './whole-file.ts';

/** Interval at which the trusted time is saved and the wall clock is checked for jumps. */
const everyMs = 600_000;

/** Milliseconds since this machine was booted, and an id of that boot. */
export type BootReading = Omit<ClockReading, 'wall'>;

/** Maximum age of a reading of the operating system, in ms. */
const maxReadingAgeMs = 1_000;
/** The wall clock and the monotonic clock differ by more than this after sleep, or when the wall clock was set. */
const maxDifferenceMs = 100;

/**
 * Returns a function that reads the time since this machine was booted, and the id of that boot. On Linux, the time includes
 * sleep. Other systems have no boot id.
 *
 * Linux keeps this time in a file, and each change of a job reads the time several times. So the function reads the file once a
 * second, and adds the time that has passed on the monotonic clock. That clock stops during sleep, but the wall clock does not.
 * So the function also reads the file when the two clocks disagree.
 */
export function createSystemBoot(
  { wall, mono }: Pick<Clock, 'wall' | 'mono'>,
  readUptime: () => number = uptime,
): () => BootReading {
  const read = () => ({ sinceBoot: readUptime() * 1_000, wall: wall(), mono: mono() });
  let last = read();
  return () => {
    const passedMs = mono() - last.mono;
    const differenceMs = Math.abs(wall() - last.wall - passedMs);
    if (passedMs < maxReadingAgeMs && differenceMs < maxDifferenceMs)
      return { sinceBoot: last.sinceBoot + passedMs, bootId };
    last = read();
    return { sinceBoot: last.sinceBoot, bootId };
  };
}

const bootId = ((): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
})();

export interface KeptTimeDeps {
  /** File with the trusted time of the last run. */
  readonly file: string;
  /** The database file. Its modification time is used if `file` does not exist. */
  readonly database: string;
  /** True if the owner has declared that the wall clock is correct. */
  readonly isTrusted: boolean;
  readonly clock: Clock;
  readonly boot: () => BootReading;
  readonly log: Log;
}

export interface KeptTime extends TrustedTime {
  /** Saves the time once more and stops the timer. */
  stop(): void;
}

/**
 * Keeps the trusted time of a data folder in a file. The time is not in the database, because a restored database may be older.
 */
export function keepTime({ file, database, isTrusted, clock, boot, log }: KeptTimeDeps): KeptTime {
  const lastTrusted = isTrusted ? null : (readMark(file) ?? lastChange(database));
  const time = createTrustedTime(() => ({ wall: clock.wall(), ...boot() }), lastTrusted);
  let cancelTimer = (): void => {};
  let isJumpKnown = false;
  const keep = (): void => {
    const jumpMs = time.jumpMs();
    if (jumpMs !== null && !isJumpKnown)
      log.warn('clock.jumped', { ahead_ms: jumpMs, trusted: clock.iso(time.now()), note });
    if (jumpMs === null && isJumpKnown) log.info('clock.agrees', {});
    isJumpKnown = jumpMs !== null;
    try {
      writeWhole(file, `${JSON.stringify(time.mark())}\n`);
    } catch (cause) {
      log.warn('clock.not_kept', { cause });
    }
  };
  const tick = (): void => {
    keep();
    cancelTimer = clock.after(everyMs, tick);
  };
  tick();
  return {
    ...time,
    stop() {
      cancelTimer();
      keep();
    },
  };
}

const note =
  'the wall clock does not agree with the time that has passed: nothing is deleted for its age before the trusted time says so. ' +
  'If the clock is right, restart with --trust-clock';

function readMark(file: string): ClockMark | null {
  try {
    const mark: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof mark !== 'object' || mark === null) return null;
    if (!('trusted' in mark) || !('sinceBoot' in mark) || !('bootId' in mark)) return null;
    const { trusted, sinceBoot, bootId: id } = mark;
    if (typeof trusted !== 'number' || typeof sinceBoot !== 'number') return null;
    return { trusted, sinceBoot, bootId: typeof id === 'string' ? id : null };
  } catch {
    return null;
  }
}

/** Returns a mark for a folder from an older version: the boot is unknown, and the time is the last change of the database. */
function lastChange(database: string): ClockMark | null {
  const changedAt = statSync(database, { throwIfNoEntry: false })?.mtimeMs;
  return changedAt === undefined ? null : { trusted: Math.floor(changedAt), sinceBoot: 0, bootId: null };
}
