import { readFileSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { createTrustedTime } from '../orchestrator/index.ts';
import type { Clock, ClockMark, ClockReading, Log, TrustedTime } from '../orchestrator/ports/index.ts';
import { writeWhole } from './whole-file.ts';

/** Interval for saving the trusted time and checking for jumps of the wall clock. */
const everyMs = 600_000;

/** Time since boot in milliseconds, and the id of the boot. */
export type BootReading = Omit<ClockReading, 'wall'>;

/** On Linux both include time asleep. Other systems have no boot id. */
export function systemBoot(): BootReading {
  return { sinceBoot: uptime() * 1_000, bootId };
}

const bootId = ((): string | null => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
})();

export interface KeptTimeDeps {
  /** Stores the trusted time of the last run. */
  readonly file: string;
  /** Fallback when there is no such file: the database's modification time. */
  readonly database: string;
  /** The owner declares the wall clock correct. */
  readonly isTrusted: boolean;
  readonly clock: Clock;
  readonly boot: () => BootReading;
  readonly log: Log;
}

export interface KeptTime extends TrustedTime {
  /** Saves the time a last time. */
  stop(): void;
}

/** Keeps the trusted time of a data folder. It has its own file because a restored database may be older. */
export function keepTime({ file, database, isTrusted, clock, boot, log }: KeptTimeDeps): KeptTime {
  const found = isTrusted ? null : (readMark(file) ?? lastChange(database));
  const time = createTrustedTime(() => ({ wall: clock.wall(), ...boot() }), found);
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
    const found: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof found !== 'object' || found === null) return null;
    if (!('trusted' in found) || !('sinceBoot' in found) || !('bootId' in found)) return null;
    const { trusted, sinceBoot, bootId: id } = found;
    if (typeof trusted !== 'number' || typeof sinceBoot !== 'number') return null;
    return { trusted, sinceBoot, bootId: typeof id === 'string' ? id : null };
  } catch {
    return null;
  }
}

/** For a folder from an older version: the boot is unknown and the time is the last change of the database. */
function lastChange(database: string): ClockMark | null {
  const changedAt = statSync(database, { throwIfNoEntry: false })?.mtimeMs;
  return changedAt === undefined ? null : { trusted: Math.floor(changedAt), sinceBoot: 0, bootId: null };
}
