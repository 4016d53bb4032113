import type { AuditSeal, Clock, Log, Store, TrustedTime } from '../orchestrator/ports/index.ts';
import { type AuditBook, createAuditBook } from './book.ts';
import { createMarkSeal } from './chain.ts';
import { type Head, type HeadFile, keepHead, readHead } from './head.ts';
import { startRetention } from './retention.ts';
import { findRollback, type RolledBack, startWitness, type Witness } from './witness.ts';
import { describeTrail, isReplacementRecorded, type LostRows, lostRows, headDetails } from './restored.ts';

export { createSeal } from './chain.ts';

export interface AuditDeps {
  readonly store: Pick<Store, 'audit' | 'write' | 'acceptsWrites' | 'eventRange'>;
  readonly key: Uint8Array;
  readonly seal: AuditSeal;
  readonly headFile: HeadFile;
  /** Witnesses outside the data folder; empty unless the owner configures some. */
  readonly witnesses: readonly Witness[];
  /** True if a backup has just replaced the database. */
  readonly isRestored: boolean;
  /** Null keeps all rows. */
  readonly retentionDays: number | null;
  readonly clock: Clock;
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
}

export interface Audit {
  readonly book: AuditBook;
  /** Changes the maximum age of rows from now on, in days; null keeps all rows. */
  setRetention(days: number | null): void;
  /**
   * Describes this trail. A restore stores the result in the `audit.restored` row of the trail that replaces this one. Call it
   * after `stop`.
   */
  describe(): ReturnType<typeof describeTrail>;
  /** Rows that the replaced trail had and the restored backup lacks; null when no rows are known to be lost. */
  readonly lost: LostRows | null;
  /** Call it before closing the store. */
  stop(): Promise<void>;
}

/**
 * Starts to write heads, to send marks to witnesses and to apply retention. Records problems that it finds at startup in the
 * trail.
 */
export async function openAudit(deps: AuditDeps): Promise<Audit> {
  const { store, seal, key, clock, log, retentionDays, witnesses } = deps;
  const markSeal = createMarkSeal(key);
  const head = readHead(deps.headFile);
  // Event numbers survive the deletion of the whole trail, so they reveal that rows existed.
  const wasLost = head === null && (store.audit.lastSeq() > 0 || store.eventRange().last > 0);
  const lost = deps.isRestored ? lostRows(store.audit, head) : null;
  if (lost !== null) log.error('audit.rows_lost', { ...lost });
  if (wasLost && !deps.isRestored) log.error('audit.head_lost', { newest: store.audit.lastSeq() });
  const rolledBack = deps.isRestored ? null : findRollback(store.audit, witnesses, log);
  const isRecorded = deps.isRestored || wasLost ? await recordGap(deps, head, lost) : false;
  const keeper = keepHead({
    trail: store.audit,
    file: deps.headFile,
    seal: markSeal,
    clock,
    log,
    isWithheld: wasLost && !isRecorded,
  });
  if (isRecorded || isReplacementRecorded(store.audit, seal, keeper)) keeper.acceptTrail();
  if (rolledBack !== null) await recordRollback(deps, rolledBack);
  if (!keeper.matchesTrail())
    log.error('audit.broken', { note: 'run "trainyard audit verify" to find the first invalid row' });
  const retention = startRetention({ ...deps, seal: markSeal, days: retentionDays });
  const witnessLoops = witnesses.map(witness => startWitness({ trail: store.audit, witness, clock, log }));
  return {
    book: createAuditBook({ trail: store.audit, seal, markSeal, keeper }),
    setRetention: retention.setRetention,
    describe: () => describeTrail(store.audit, keeper.head()),
    lost,
    async stop() {
      await retention.stop();
      await Promise.all(witnessLoops.map(loop => loop.stop()));
      keeper.stop();
    },
  };
}

/** Records a restored backup or a missing head. An attacker may have deleted the head to hide that rows were removed. */
function recordGap(deps: AuditDeps, head: Head, lost: LostRows | null): Promise<boolean> {
  const { store, isRestored } = deps;
  const about = { newest: store.audit.lastSeq(), head: headDetails(head) };
  const details = lost === null ? about : { ...about, lost };
  return append(deps, isRestored ? 'audit.restored' : 'audit.head_lost', details);
}

/**
 * Records that a witness has a mark of a row that the trail lacks. The next marks for the witness match this trail again, so only
 * this audit row preserves the finding.
 */
async function recordRollback(deps: AuditDeps, rollback: RolledBack): Promise<void> {
  const details = { newest: deps.store.audit.lastSeq(), ...rollback };
  deps.log.error('audit.rolled_back', details);
  await append(deps, 'audit.rolled_back', details);
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
    // A full disk must not prevent the start. The evidence of the loss remains: the head is missing or does not match.
    log.warn('audit.not_told', { type, cause });
    return false;
  }
}
