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
const firstAfterMs = 60_000;
const everyMs = 6 * 3_600_000;
/** Rows per transaction. A limit, because other writers wait for each transaction. */
const batchSize = 1_000;

export interface RetentionDeps {
  readonly store: Pick<Store, 'audit' | 'write' | 'acceptsWrites'>;
  readonly seal: MarkSeal;
  readonly clock: Clock;
  /** Measures age with trusted time, so that a clock jump removes nothing. */
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
  /** Removes rows older than this many days; null keeps all rows. */
  readonly days: number | null;
}

export interface Retention {
  /** Changes retention from now on; the first pass with the new value runs a minute later. Null keeps all rows. */
  setRetention(days: number | null): void;
  stop(): Promise<void>;
}

/**
 * Removes old rows periodically. It leaves an anchor in their place so that the remaining rows can still be verified.
 */
export function startRetention(parts: RetentionDeps): Retention {
  const { clock, log } = parts;
  let days: number | null = null;
  let isOver = false;
  let running: Promise<void> | null = null;
  let cancelTimer = (): void => {};
  const passIn = (ms: number): void => {
    cancelTimer();
    cancelTimer = isOver || days === null || running !== null ? () => {} : clock.after(ms, pass);
  };
  const pass = (): void => {
    running = trim(parts, () => (isOver ? null : days))
      .catch((cause: unknown) => log.error('audit.not_trimmed', { cause }))
      .then(() => {
        running = null;
        passIn(everyMs);
      });
  };
  const setRetention = (next: number | null): void => {
    days = next;
    passIn(firstAfterMs);
  };
  setRetention(parts.days);
  return {
    setRetention,
    async stop() {
      isOver = true;
      cancelTimer();
      await running;
    },
  };
}

/**
 * Runs one pass and reads `daysNow` before each batch; null ends the pass. Each batch is recorded in the transaction that
 * removes it.
 */
async function trim(
  { store, seal, clock, time }: RetentionDeps,
  daysNow: () => number | null,
): Promise<void> {
  for (;;) {
    const days = daysNow();
    if (days === null || !store.acceptsWrites()) return;
    const old = oldest(store.audit, time.earliest() - days * dayMs);
    const last = old.at(-1);
    if (last === undefined) return;
    await store.write(tx => {
      const at = clock.wall();
      const mark: AuditMark = { seq: last.seq, hash: last.hash, at };
      tx.trimAudit({ ...mark, seal: seal('anchor', mark) });
      const target = { type: 'audit', id: 'audit' } as const;
      const details = { through: last.seq, rows: old.length, older_than_days: days };
      tx.appendAudit({ at, type: 'audit.trimmed', actor: { type: 'system' }, target, details });
    });
  }
}

/**
 * Returns the oldest rows, up to the first that is recent enough to keep. The newest row always stays because the next one is
 * sealed with its hash.
 */
function oldest(trail: AuditTrail, cutoff: number): readonly AuditRow[] {
  const rows = trail.after(trail.anchor()?.seq ?? 0, batchSize);
  const kept = rows.findIndex(({ at, seq }) => at >= cutoff || seq === trail.lastSeq());
  return kept === -1 ? rows : rows.slice(0, kept);
}
