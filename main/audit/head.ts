import type { AuditMark, AuditTrail, Clock, Log, SealedMark } from '../orchestrator/ports.ts';
import type { MarkSeal } from './chain.ts';

/** Where the head is kept: outside the database, so that who cuts the trail there does not cut it here. */
export interface HeadFile {
  /** Null when there is none. Throws when it can not be read. */
  read(): string | null;
  /** Whole or not at all. Throws when the disk does not take it. */
  write(text: string): void;
}

export interface HeadParts {
  readonly trail: AuditTrail;
  readonly file: HeadFile;
  readonly seal: MarkSeal;
  readonly clock: Clock;
  readonly log: Log;
  /** The head is gone, and that could not be told: a new one would hide it. */
  readonly isWithheld?: boolean;
}

/** Null when there is none; `unreadable` when what is there is no head. */
export type Head = SealedMark | 'unreadable' | null;

export interface HeadKeeper {
  /** As it is kept now. */
  head(): Head;
  /** Whether it is one of ours, and the trail goes on from it. */
  fits(): boolean;
  /** It was gone at the start, and the trail could not be told so: it is not written anew before a start that can. */
  readonly isWithheld: boolean;
  /** Whether it is one of ours, whatever the trail is. */
  isSealed(): boolean;
  /** The trail was replaced by an older one, and says so itself: the head stands for that from now on. */
  accept(): void;
  /** Writes the newest one a last time. */
  stop(): void;
}

/** What a power cut can take from under the head: rows younger than this. */
const everyMs = 5_000;

/**
 * Keeps the number and the hash of the newest row, sealed. It never goes back: where the trail does not contain the row
 * that it stands for, somebody has cut it, and the head stays as the proof of that.
 */
export function keepHead(parts: HeadParts): HeadKeeper {
  const { trail, file, seal, clock, log, isWithheld = false } = parts;
  let kept = readHead(file);
  let takeBack = (): void => {};
  const isSealed = (mark: SealedMark): boolean => seal('head', mark) === mark.seal;

  const fits = (): boolean => {
    if (kept === null) return true;
    if (kept === 'unreadable' || !isSealed(kept)) return false;
    // From before the first row: it shows that there has been a head.
    if (kept.seq === 0) return true;
    return trail.row(kept.seq)?.hash === kept.hash || isTrimmed(kept, trail);
  };
  const write = (): void => {
    const newest = newestOf(trail);
    if (kept !== null && kept !== 'unreadable' && kept.hash === newest.hash) return;
    const mark: AuditMark = { ...newest, at: clock.wall() };
    const head = { ...mark, seal: seal('head', mark) };
    try {
      file.write(`${JSON.stringify(head)}\n`);
      kept = head;
    } catch (cause) {
      log.warn('audit.head_not_written', { cause });
    }
  };
  const keep = (): void => {
    if (fits() && !isWithheld) write();
  };
  const beat = (): void => {
    keep();
    takeBack = clock.after(everyMs, beat);
  };
  beat();
  return {
    head: () => kept,
    fits,
    isWithheld,
    isSealed: () => kept !== null && kept !== 'unreadable' && isSealed(kept),
    accept: write,
    stop() {
      takeBack();
      keep();
    },
  };
}

const newestOf = (trail: AuditTrail): Omit<AuditMark, 'at'> => {
  const row = trail.row(trail.lastSeq());
  return row === null ? beforeTheFirst : { seq: row.seq, hash: row.hash };
};

const beforeTheFirst = { seq: 0, hash: '' };

/** Retention has removed the row that it stands for, and all before it. */
const isTrimmed = ({ seq, hash }: AuditMark, trail: AuditTrail): boolean => {
  const anchor = trail.anchor();
  return anchor !== null && (anchor.seq > seq || (anchor.seq === seq && anchor.hash === hash));
};

export function readHead(file: HeadFile): Head {
  try {
    const text = file.read();
    if (text === null) return null;
    const head: unknown = JSON.parse(text);
    return isMark(head) ? head : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

const isMark = (head: unknown): head is SealedMark =>
  typeof head === 'object' &&
  head !== null &&
  'seq' in head &&
  typeof head.seq === 'number' &&
  'at' in head &&
  typeof head.at === 'number' &&
  'hash' in head &&
  typeof head.hash === 'string' &&
  'seal' in head &&
  typeof head.seal === 'string';
