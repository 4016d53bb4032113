import type { AuditSeal, Clock, Log, Store, TrustedTime } from '../orchestrator/ports/index.ts';
import { type AuditBook, createAuditBook } from './book.ts';
import { createMarkSeal } from './chain.ts';
import { type Head, type HeadFile, keepHead, readHead } from './head.ts';
import { startRetention } from './retention.ts';
import { findRollback, type RolledBack, startWitness, type Witness } from './witness.ts';
import { accountOf, isAccountedFor, type LostRows, lostRows, shownHead } from './restored.ts';

export { createSeal } from './chain.ts';

export interface AuditDeps {
  readonly store: Pick<Store, 'audit' | 'write' | 'takesChanges' | 'eventRange'>;
  readonly key: Uint8Array;
  readonly seal: AuditSeal;
  readonly headFile: HeadFile;
  /** Witnesses outside the data folder; empty unless the owner configures some. */
  readonly witnesses: readonly Witness[];
  /** Whether a backup has just replaced the database. */
  readonly isRestored: boolean;
  /** Null keeps all rows. */
  readonly retentionDays: number | null;
  readonly clock: Clock;
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
}

export interface Audit {
  readonly book: AuditBook;
  /** Changes retention from now on; null keeps all rows. */
  keepFor(days: number | null): void;
  /** Describes this trail for the `audit.restored` row of the trail that replaces it. Call it after `stop`. */
  account(): ReturnType<typeof accountOf>;
  /** Rows that the head covers but the restored backup lacks; null when no rows are known to be lost. */
  readonly lost: LostRows | null;
  /** Call it before closing the store. */
  stop(): Promise<void>;
}

/**
 * Opens everything that protects the trail, and its retention. Problems found at startup are recorded in the trail itself.
 */
export async function openAudit(parts: AuditDeps): Promise<Audit> {
  const { store, seal, key, clock, log, retentionDays, witnesses } = parts;
  const markSeal = createMarkSeal(key);
  const found = readHead(parts.headFile);
  // Deleting the whole trail leaves the event numbers behind, and they reveal that rows existed.
  const wasLost = found === null && (store.audit.lastSeq() > 0 || store.eventRange().last > 0);
  const lost = parts.isRestored ? lostRows(store.audit, found) : null;
  if (lost !== null) log.error('audit.rows_lost', { ...lost });
  if (wasLost && !parts.isRestored) log.error('audit.head_lost', { newest: store.audit.lastSeq() });
  const rolledBack = parts.isRestored ? null : findRollback(store.audit, witnesses, log);
  const isRecorded = parts.isRestored || wasLost ? await recordGap(parts, found, lost) : false;
  const keeper = keepHead({
    trail: store.audit,
    file: parts.headFile,
    seal: markSeal,
    clock,
    log,
    isWithheld: wasLost && !isRecorded,
  });
  if (isRecorded || isAccountedFor(store.audit, seal, keeper)) keeper.accept();
  if (rolledBack !== null) await recordRollback(parts, rolledBack);
  if (!keeper.fits()) log.error('audit.broken', { note: 'trainyard audit verify says where' });
  const retention = startRetention({ ...parts, seal: markSeal, days: retentionDays });
  const watches = witnesses.map(witness => startWitness({ trail: store.audit, witness, clock, log }));
  return {
    book: createAuditBook({ trail: store.audit, seal, markSeal, keeper }),
    keepFor: retention.keepFor,
    account: () => accountOf(store.audit, keeper.head()),
    lost,
    async stop() {
      await retention.stop();
      await Promise.all(watches.map(watch => watch.stop()));
      keeper.stop();
    },
  };
}

/**
 * Records a restored backup, which has fewer rows than the head covers, or a missing head. Deleting the head removes the evidence
 * of a truncated trail.
 */
function recordGap(parts: AuditDeps, head: Head, lost: LostRows | null): Promise<boolean> {
  const { store, isRestored } = parts;
  const about = { newest: store.audit.lastSeq(), head: shownHead(head) };
  const details = lost === null ? about : { ...about, lost };
  return append(parts, isRestored ? 'audit.restored' : 'audit.head_lost', details);
}

/** Later marks for the witness match this trail again, so only this row preserves the finding. */
async function recordRollback(parts: AuditDeps, found: RolledBack): Promise<void> {
  const details = { newest: parts.store.audit.lastSeq(), ...found };
  parts.log.error('audit.rolled_back', details);
  await append(parts, 'audit.rolled_back', details);
}

async function append(
  { store, clock, log }: AuditDeps,
  type: 'audit.restored' | 'audit.head_lost' | 'audit.rolled_back',
  details: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const target = { type: 'audit', id: 'audit' } as const;
  try {
    await store.write(tx =>
      tx.appendAudit({ at: clock.wall(), type, actor: { type: 'system' }, target, details }),
    );
    return true;
  } catch (cause) {
    // A full disk must not prevent the start. The evidence of the loss remains: a missing head, or one that does not match.
    log.warn('audit.not_told', { type, cause });
    return false;
  }
}
