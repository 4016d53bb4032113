import type { AuditMark, AuditRow, AuditTrail, Clock, Log, Store } from '../orchestrator/ports.ts';
import type { MarkSeal } from './chain.ts';

const dayMs = 86_400_000;
const firstAfterMs = 60_000;
const everyMs = 6 * 3_600_000;
/** So many rows go in one transaction: nobody waits for more. */
const portion = 1_000;
/** A clock that has gone on by more than this since the trail was last written to may be wrong, and would empty it. */
const trustedMs = 30 * dayMs;

export interface RetentionParts {
  readonly store: Pick<Store, 'audit' | 'write' | 'takesChanges'>;
  readonly seal: MarkSeal;
  readonly clock: Clock;
  readonly log: Log;
  /** Rows older than this are removed; null keeps everything. */
  readonly days: number | null;
}

export interface Retention {
  /** From now on; what is old by then goes a little later. Null keeps everything. */
  keepFor(days: number | null): void;
  stop(): Promise<void>;
}

/** Removes old rows now and then, and leaves an anchor in their place, so that what is left can still be verified. */
export function startRetention(parts: RetentionParts): Retention {
  const { clock, log, store } = parts;
  const isTrusted = clock.wall() - newestAt(store.audit, clock.wall()) < trustedMs;
  let days: number | null = null;
  let isOver = false;
  let running: Promise<void> | null = null;
  let takeBack = (): void => {};
  const passIn = (ms: number): void => {
    takeBack();
    takeBack = isOver || days === null || running !== null ? () => {} : clock.after(ms, pass);
  };
  const pass = (): void => {
    running = trim(parts, () => (isOver ? null : days))
      .catch((cause: unknown) => log.error('audit.not_trimmed', { cause }))
      .then(() => {
        running = null;
        passIn(everyMs);
      });
  };
  const keepFor = (next: number | null): void => {
    days = next;
    if (isTrusted) passIn(firstAfterMs);
    else if (days !== null) log.warn('audit.not_trimmed', { note: untrusted });
  };
  keepFor(parts.days);
  return {
    keepFor,
    async stop() {
      isOver = true;
      takeBack();
      await running;
    },
  };
}

const untrusted =
  'the clock has gone on for more than 30 days since the last entry: nothing is removed until the next start';

/** One pass, for as many days as `daysNow` says; ends early on null. Each portion is written down in the transaction that removes it. */
async function trim({ store, seal, clock }: RetentionParts, daysNow: () => number | null): Promise<void> {
  for (;;) {
    const days = daysNow();
    if (days === null || !store.takesChanges()) return;
    const old = oldest(store.audit, clock.wall() - days * dayMs);
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

/** The oldest rows, as far as all of them are older. The newest of all always stays: the next one is sealed with it. */
function oldest(trail: AuditTrail, cutoff: number): readonly AuditRow[] {
  const rows = trail.after(trail.anchor()?.seq ?? 0, portion);
  const kept = rows.findIndex(({ at, seq }) => at >= cutoff || seq === trail.lastSeq());
  return kept === -1 ? rows : rows.slice(0, kept);
}

const newestAt = (trail: AuditTrail, otherwise: number): number =>
  trail.row(trail.lastSeq())?.at ?? otherwise;
