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
  /** Rows older than this are removed. */
  readonly days: number;
}

export interface Retention {
  stop(): Promise<void>;
}

/** Removes old rows now and then, and leaves an anchor in their place, so that what is left can still be verified. */
export function startRetention(parts: RetentionParts): Retention {
  const { clock, log } = parts;
  const isTrusted = clock.wall() - newestAt(parts.store.audit, clock.wall()) < trustedMs;
  if (!isTrusted)
    log.warn('audit.not_trimmed', {
      note: 'the clock has gone on for more than 30 days since the last entry: nothing is removed until the next start',
    });
  let isOver = false;
  let running: Promise<void> = Promise.resolve();
  let takeBack = (): void => {};
  const pass = (): void => {
    running = trim(parts, () => isOver)
      .catch((cause: unknown) => log.error('audit.not_trimmed', { cause }))
      .then(() => {
        if (!isOver) takeBack = clock.after(everyMs, pass);
      });
  };
  if (isTrusted) takeBack = clock.after(firstAfterMs, pass);
  return {
    async stop() {
      isOver = true;
      takeBack();
      await running;
    },
  };
}

/** One pass; ends early when `isOver` says so. Each portion is written down in the transaction that removes it. */
async function trim({ store, seal, clock, days }: RetentionParts, isOver: () => boolean): Promise<void> {
  const cutoff = clock.wall() - days * dayMs;
  for (;;) {
    const old = oldest(store.audit, cutoff);
    const last = old.at(-1);
    if (last === undefined || isOver() || !store.takesChanges()) return;
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
