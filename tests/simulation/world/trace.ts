import { createHash } from 'node:crypto';

/** What happened, line by line: the last lines for people, a hash of all of them for the comparison of two runs. */
export interface Trace {
  note(who: string, what: string): void;
  readonly lines: number;
  /** SHA-256 of everything that was noted, in lower-case hex. */
  hash(): string;
  /** The newest lines, oldest first. */
  tail(count: number): readonly string[];
}

const kept = 20_000;

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
      if (recent.length > 2 * kept) recent = recent.slice(-kept);
    },
    get lines() {
      return lines;
    },
    hash: () => hash.copy().digest('hex'),
    tail: count => recent.slice(-count),
  };
}

/** Virtual time since the beginning: minutes, seconds, milliseconds. */
export function stamp(ms: number): string {
  const whole = Math.round(ms);
  const minutes = String(Math.floor(whole / 60_000)).padStart(3, ' ');
  const seconds = String(Math.floor((whole % 60_000) / 1000)).padStart(2, '0');
  return `${minutes}:${seconds}.${String(whole % 1000).padStart(3, '0')}`;
}
