import type {
  AuditMark,
  AuditRow,
  AuditTrail,
  Clock,
  Log,
  Store,
  TrustedTime,
} from '../orchestrator/ports/index.ts';
import type { MarkSeal } from './chain.ts';

const dayMs = 86_400_000;
const firstPassMs = 60_000;
const intervalMs = 6 * 3_600_000;
/** Maximum number of rows per transaction, so that other writers can proceed between two transactions. */
const batchSize = 1_000;

export interface RetentionDeps {
  readonly store: Pick<Store, 'audit' | 'write' | 'acceptsWrites'>;
  readonly seal: MarkSeal;
  readonly clock: Clock;
  /** Trusted time measures the age of rows, so that a jump of the wall clock removes nothing. */
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
  /** Removes rows older than this many days; null keeps all rows. */
  readonly days: number | null;
}

export interface Retention {
  /** Sets the maximum age in days; null keeps all rows. The next pass runs a minute later. */
  setRetention(days: number | null): void;
  stop(): Promise<void>;
}

/** Removes old rows periodically. The anchor replaces them, so that the remaining rows can still be verified. */
export function startRetention(deps: RetentionDeps): Retention {
  const { clock, log } = deps;
  let days: number | null = null;
  let isStopped = false;
  let running: Promise<void> | null = null;
  let cancelTimer = (): void => {};
  const schedulePass = (ms: number): void => {
    cancelTimer();
    cancelTimer = isStopped || days === null || running !== null ? () => {} : clock.after(ms, pass);
  };
  const pass = (): void => {
    running = trim(deps, () => (isStopped ? null : days))
      .catch((cause: unknown) => log.error('audit.not_trimmed', { cause }))
      .then(() => {
        running = null;
        schedulePass(intervalMs);
      });
  };
  const setRetention = (next: number | null): void => {
    days = next;
    schedulePass(firstPassMs);
  };
  setRetention(deps.days);
  return {
    setRetention,
    async stop() {
      isStopped = true;
      cancelTimer();
      await running;
    },
  };
}

/**
 * Runs one pass. Calls `daysNow` before each batch, and ends when the result is null. Each batch is one transaction, which also
 * appends an audit row about the removal.
 */
async function trim(
  { store, seal, clock, time }: RetentionDeps,
  daysNow: () => number | null,
): Promise<void> {
  for (;;) {
    const days = daysNow();
    if (days === null || !store.acceptsWrites()) return;
    const old = oldest(store.audit, time.earliest() - days * dayMs);
    const newest = old.at(-1);
    if (newest === undefined) return;
    await store.write(tx => {
      const at = clock.wall();
      const mark: AuditMark = { seq: newest.seq, hash: newest.hash, at };
      tx.trimAudit({ ...mark, seal: seal('anchor', mark) });
      const target = { type: 'audit', id: 'audit' } as const;
      const details = { through: newest.seq, rows: old.length, older_than_days: days };
      tx.appendAudit({ at, type: 'audit.trimmed', actor: { type: 'system' }, target, details });
    });
  }
}

/**
 * Returns the oldest rows, up to the first one that is recent enough to keep. Never returns the newest row, because the next row
 * will contain its hash.
 */
function oldest(trail: AuditTrail, cutoff: number): readonly AuditRow[] {
  const rows = trail.after(trail.anchor()?.seq ?? 0, batchSize);
  const firstKept = rows.findIndex(({ at, seq }) => at >= cutoff || seq === trail.lastSeq());
  return firstKept === -1 ? rows : rows.slice(0, firstKept);
}
