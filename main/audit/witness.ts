import type { AuditRow, AuditTrail, Clock, Log } from '../orchestrator/ports/index.ts';

/** The newest row, as a witness receives it. Its hash also covers all earlier rows. */
export interface WitnessMark extends Pick<AuditRow, 'seq' | 'hash'> {
  /** RFC 3339, by the orchestrator's clock. */
  readonly at: string;
}

/** Keeps marks outside the data folder. */
export interface Witness {
  /** Appears in the log; must not contain secrets. */
  readonly name: string;
  /** Sends a mark to the witness. Rejects when that fails. */
  tell(mark: WitnessMark, signal: AbortSignal): Promise<void>;
  /** Returns the newest mark that the witness received, or null. Absent for a witness that can only receive. */
  readonly newest?: () => Pick<WitnessMark, 'seq' | 'hash'> | null;
}

/**
 * Finds the first witness whose newest mark is missing in the trail, which means that an older database has replaced this one.
 * Returns null when no witness has such a mark.
 */
export function findRollback(
  trail: AuditTrail,
  witnesses: readonly Witness[],
  log: Pick<Log, 'warn'>,
): RolledBack | null {
  for (const witness of witnesses) {
    const mark = newestOf(witness, log);
    if (mark !== null && compareMarks(trail, [mark]).bad !== null)
      return { witness: witness.name, seq: mark.seq, hash: mark.hash };
  }
  return null;
}

export interface RolledBack extends Pick<WitnessMark, 'seq' | 'hash'> {
  readonly witness: string;
}

/** Returns null when the witness cannot be read, because that must not prevent the start. */
function newestOf(witness: Witness, log: Pick<Log, 'warn'>) {
  try {
    return witness.newest?.() ?? null;
  } catch (cause) {
    log.warn('audit.witness_not_read', { witness: witness.name, cause });
    return null;
  }
}

/** Finds the first mark whose row is missing in the trail or has another hash. Skips marks of rows that retention has removed. */
export function compareMarks(trail: AuditTrail, marks: readonly Pick<WitnessMark, 'seq' | 'hash'>[]) {
  const anchor = trail.anchor();
  const marksToKeep = marks.filter(({ seq }) => anchor === null || seq >= anchor.seq);
  const hashAt = (seq: number) => (anchor?.seq === seq ? anchor.hash : trail.row(seq)?.hash);
  const firstBad = marksToKeep.findIndex(({ seq, hash }) => hashAt(seq) !== hash);
  const bad = marksToKeep[firstBad] ?? null;
  return {
    checked: bad === null ? marksToKeep.length : firstBad,
    removed: marks.length - marksToKeep.length,
    bad,
  };
}

export interface WitnessDeps {
  readonly trail: Pick<AuditTrail, 'row' | 'lastSeq'>;
  readonly witness: Witness;
  readonly clock: Clock;
  readonly log: Log;
}

const checkEveryMs = 5_000;
/** Minimum time between two marks, unless `maxRows` rows were added since the last mark. */
const sendWithinMs = 60_000;
const maxRows = 500;
const timeoutMs = 10_000;
/** Short, because the server must exit within two seconds. */
const lastTimeoutMs = 1_000;

/** Sends the newest row to a witness at the start, after changes, and at the end. Retries after a failure. */
export function startWitness({ trail, witness, clock, log }: WitnessDeps): { stop(): Promise<void> } {
  let sent: { readonly seq: number; readonly hash: string; readonly at: number } | null = null;
  let sending: Promise<void> | null = null;
  let hasFailed = false;
  let cancelTimer = (): void => {};

  const isDue = ({ seq, hash }: AuditRow): boolean => {
    if (sent === null) return true;
    if (hash === sent.hash) return false;
    return clock.mono() - sent.at >= sendWithinMs || Math.abs(seq - sent.seq) >= maxRows;
  };
  const send = async (row: AuditRow, withinMs: number): Promise<void> => {
    const { seq, hash } = row;
    const controller = new AbortController();
    const cancel = clock.after(withinMs, () => controller.abort(new Error('it did not answer in time')));
    try {
      await witness.tell({ seq, hash, at: clock.iso(clock.wall()) }, controller.signal);
      sent = { seq, hash, at: clock.mono() };
      hasFailed = false;
    } catch (cause) {
      if (!hasFailed) log.error('audit.witness_failed', { witness: witness.name, cause });
      hasFailed = true;
    } finally {
      cancel();
    }
  };
  const newest = (): AuditRow | null => trail.row(trail.lastSeq());
  const sendIfDue = (): void => {
    cancelTimer = clock.after(checkEveryMs, sendIfDue);
    const row = newest();
    if (row === null || sending !== null || !isDue(row)) return;
    sending = send(row, timeoutMs).finally(() => {
      sending = null;
    });
  };
  const finish = async (): Promise<void> => {
    cancelTimer();
    const row = newest();
    if (row !== null && row.hash !== sent?.hash) await send(row, lastTimeoutMs);
  };
  let finished: Promise<void> | null = null;
  sendIfDue();
  return { stop: () => (finished ??= finish()) };
}
