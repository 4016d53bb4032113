import type { AuditSeal, Clock, Log, Store, TrustedTime } from '../orchestrator/ports.ts';
import { type AuditBook, createAuditBook } from './book.ts';
import { createMarkSeal } from './chain.ts';
import { type Head, type HeadFile, keepHead, readHead } from './head.ts';
import { startRetention } from './retention.ts';
import { findRollback, type RolledBack, startWitness, type Witness } from './witness.ts';
import { accountOf, isAccountedFor, type LostRows, lostRows, shownHead } from './restored.ts';

export { createSeal } from './chain.ts';

export interface AuditParts {
  readonly store: Pick<Store, 'audit' | 'write' | 'takesChanges' | 'eventRange'>;
  readonly key: Uint8Array;
  readonly seal: AuditSeal;
  readonly headFile: HeadFile;
  /** Outside the data folder; none unless the owner names some. */
  readonly witnesses: readonly Witness[];
  /** Whether a backup has just taken the place of the database. */
  readonly isRestored: boolean;
  /** Null keeps everything. */
  readonly retentionDays: number | null;
  readonly clock: Clock;
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
}

export interface Audit {
  readonly book: AuditBook;
  /** From now on; null keeps everything. */
  keepFor(days: number | null): void;
  /** What a row `audit.restored` of the trail that takes the place of this one has to say of it. Once it is stopped. */
  account(): ReturnType<typeof accountOf>;
  /** Rows that the head vouched for and that a restored backup does not have; null when none are known to be lost. */
  readonly lost: LostRows | null;
  /** Before the store is closed. */
  stop(): Promise<void>;
}

/** What vouches for the trail, and keeps it from growing for ever. What it finds at its start is written into the trail. */
export async function openAudit(parts: AuditParts): Promise<Audit> {
  const { store, seal, key, clock, log, retentionDays, witnesses } = parts;
  const markSeal = createMarkSeal(key);
  const found = readHead(parts.headFile);
  // Whoever empties the trail as a whole leaves the numbers of the events.
  const wasLost = found === null && (store.audit.lastSeq() > 0 || store.eventRange().last > 0);
  const lost = parts.isRestored ? lostRows(store.audit, found) : null;
  if (lost !== null) log.error('audit.rows_lost', { ...lost });
  if (wasLost && !parts.isRestored) log.error('audit.head_lost', { newest: store.audit.lastSeq() });
  const rolledBack = parts.isRestored ? null : findRollback(store.audit, witnesses, log);
  const isTold = parts.isRestored || wasLost ? await tellOf(parts, found, lost) : false;
  const keeper = keepHead({
    trail: store.audit,
    file: parts.headFile,
    seal: markSeal,
    clock,
    log,
    isWithheld: wasLost && !isTold,
  });
  if (isTold || isAccountedFor(store.audit, seal, keeper)) keeper.accept();
  if (rolledBack !== null) await tellRollback(parts, rolledBack);
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

/** A backup has fewer rows than the head stands for; and who takes the head away takes with it what shows a cut tail. */
function tellOf(parts: AuditParts, head: Head, lost: LostRows | null): Promise<boolean> {
  const { store, isRestored } = parts;
  const about = { newest: store.audit.lastSeq(), head: shownHead(head) };
  const details = lost === null ? about : { ...about, lost };
  return append(parts, isRestored ? 'audit.restored' : 'audit.head_lost', details);
}

/** What the witness is told from now on fits this trail, so the row is what keeps the finding. */
async function tellRollback(parts: AuditParts, found: RolledBack): Promise<void> {
  const details = { newest: parts.store.audit.lastSeq(), ...found };
  parts.log.error('audit.rolled_back', details);
  await append(parts, 'audit.rolled_back', details);
}

async function append(
  { store, clock, log }: AuditParts,
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
    // A full disk keeps nobody from starting. What shows the loss stays as it is: no head, or one that does not fit.
    log.warn('audit.not_told', { type, cause });
    return false;
  }
}
