import type { AuditMark, AuditTrail, Clock, Log, SealedMark } from '../orchestrator/ports/index.ts';
import type { MarkSeal } from './chain.ts';

/**
 * The head: a file outside the database with the number and hash of the newest row. Truncating the trail in the database does not
 * change the head, so the head reveals the missing rows.
 */
export interface HeadFile {
  /** Returns null when the file does not exist. Throws when it cannot be read. */
  read(): string | null;
  /** Atomic: writes all of the text or nothing. Throws when the disk rejects the write. */
  write(text: string): void;
}

export interface HeadDeps {
  readonly trail: AuditTrail;
  readonly file: HeadFile;
  readonly seal: MarkSeal;
  readonly clock: Clock;
  readonly log: Log;
  /**
   * True if the head file is missing and no audit row records that yet. No new head is then written, because it would hide the
   * loss.
   */
  readonly isWithheld?: boolean;
}

/** Null when there is no head file; `unreadable` when the file does not contain a head. */
export type Head = SealedMark | 'unreadable' | null;

export interface HeadKeeper {
  /** Returns the current head. */
  head(): Head;
  /**
   * Returns true if there is no head. Otherwise the head must have a valid seal. The trail must contain the marked row, unless
   * retention has removed that row.
   */
  matchesTrail(): boolean;
  /**
   * True if the head was missing at startup and the row that reports it could not be written. No head is then written until a
   * later start has written that row.
   */
  readonly isWithheld: boolean;
  /** Returns true if the head has a valid seal. The trail is not read. */
  isSealed(): boolean;
  /** Writes a head for the current trail. Call it only if the trail itself records why the old head does not match. */
  acceptTrail(): void;
  /** Writes the head once more and stops the timer. */
  stop(): void;
}

/** Interval between writes of the head file. After a power failure, the head can lack rows younger than this. */
const everyMs = 5_000;

/**
 * Keeps the number and hash of the newest row in a sealed file. The head never moves back. If the trail lacks the row that the
 * head marks, the trail was truncated. The head then stays unchanged as proof.
 */
export function keepHead(deps: HeadDeps): HeadKeeper {
  const { trail, file, seal, clock, log, isWithheld = false } = deps;
  let storedHead = readHead(file);
  let cancelTimer = (): void => {};
  const isSealed = (mark: SealedMark): boolean => seal('head', mark) === mark.seal;

  const matchesTrail = (): boolean => {
    if (storedHead === null) return true;
    if (storedHead === 'unreadable' || !isSealed(storedHead)) return false;
    // A head with number 0 was written before the first row. It only proves that a head existed.
    if (storedHead.seq === 0) return true;
    return trail.row(storedHead.seq)?.hash === storedHead.hash || isTrimmed(storedHead, trail);
  };
  const write = (): void => {
    const newest = newestMark(trail);
    if (storedHead !== null && storedHead !== 'unreadable' && storedHead.hash === newest.hash) return;
    const mark: AuditMark = { ...newest, at: clock.wall() };
    const head = { ...mark, seal: seal('head', mark) };
    try {
      file.write(`${JSON.stringify(head)}\n`);
      storedHead = head;
    } catch (cause) {
      log.warn('audit.head_not_written', { cause });
    }
  };
  const keep = (): void => {
    if (matchesTrail() && !isWithheld) write();
  };
  const tick = (): void => {
    keep();
    cancelTimer = clock.after(everyMs, tick);
  };
  tick();
  return {
    head: () => storedHead,
    matchesTrail,
    isWithheld,
    isSealed: () => storedHead !== null && storedHead !== 'unreadable' && isSealed(storedHead),
    acceptTrail: write,
    stop() {
      cancelTimer();
      keep();
    },
  };
}

const newestMark = (trail: AuditTrail): Omit<AuditMark, 'at'> => {
  const row = trail.row(trail.lastSeq());
  return row === null ? emptyTrailMark : { seq: row.seq, hash: row.hash };
};

const emptyTrailMark = { seq: 0, hash: '' };

/** True if retention has removed the row of the head and all rows before it. */
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
