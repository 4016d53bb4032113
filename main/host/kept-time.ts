import { readFileSync, statSync } from 'node:fs';
import { uptime } from 'node:os';
import { createTrustedTime } from '../orchestrator/index.ts';
import type { Clock, ClockMark, ClockReading, Log, TrustedTime } from '../orchestrator/ports.ts';
import { writeWhole } from './whole-file.ts';

/** How often the trusted time is kept, and a jump of the wall clock looked for. */
const everyMs = 600_000;

/** What a machine says of its own start. */
export type BootReading = Omit<ClockReading, 'wall'>;

/** Linux counts sleep in both of them; elsewhere the system has no name for a boot. */
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

export interface KeptTimeParts {
  /** Where the time of the last run is kept. */
  readonly file: string;
  /** Stands in for it, by the time of its last change, where there is none yet. */
  readonly database: string;
  /** The owner says that the wall clock is right. */
  readonly isTrusted: boolean;
  readonly clock: Clock;
  readonly boot: () => BootReading;
  readonly log: Log;
}

export interface KeptTime extends TrustedTime {
  /** Keeps it a last time. */
  stop(): void;
}

/** The trusted time of a data folder: kept in a file of its own, because a database may be restored from an older one. */
export function keepTime({ file, database, isTrusted, clock, boot, log }: KeptTimeParts): KeptTime {
  const found = isTrusted ? null : (readMark(file) ?? lastChange(database));
  const time = createTrustedTime(() => ({ wall: clock.wall(), ...boot() }), found);
  let takeBack = (): void => {};
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
  const beat = (): void => {
    keep();
    takeBack = clock.after(everyMs, beat);
  };
  beat();
  return {
    ...time,
    stop() {
      takeBack();
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

/** Of a folder that an older version has worked with: some boot, at some time. */
function lastChange(database: string): ClockMark | null {
  const changedAt = statSync(database, { throwIfNoEntry: false })?.mtimeMs;
  return changedAt === undefined ? null : { trusted: Math.floor(changedAt), sinceBoot: 0, bootId: null };
}
