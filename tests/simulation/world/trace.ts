import { createHash } from 'node:crypto';

/** The trace of a run. The report of a violation contains the last lines. The hash shows whether two runs are the same. */
export interface Trace {
  note(who: string, what: string): void;
  readonly lines: number;
  /** Returns the SHA-256 of all lines in lower-case hex. */
  hash(): string;
  /** Returns the newest lines, oldest first. */
  tail(count: number): readonly string[];
}

const maxLines = 20_000;

export function createTrace(now: () => number): Trace {
  const hash = createHash('sha256');
  let recent: string[] = [];
  let lines = 0;
  return {
    note(who, what) {
      const line = `${stamp(now())} ${who.padEnd(9)} ${what}`;
      hash.update(`${line}\n`);
      lines += 1;
      recent.push(line);
      if (recent.length > 2 * maxLines) recent = recent.slice(-maxLines);
    },
    get lines() {
      return lines;
    },
    hash: () => hash.copy().digest('hex'),
    tail: count => recent.slice(-count),
  };
}

/** Formats virtual time since the start as minutes, seconds and milliseconds. */
export function stamp(ms: number): string {
  const whole = Math.round(ms);
  const minutes = String(Math.floor(whole / 60_000)).padStart(3, ' ');
  const seconds = String(Math.floor((whole % 60_000) / 1000)).padStart(2, '0');
  return `${minutes}:${seconds}.${String(whole % 1000).padStart(3, '0')}`;
}
