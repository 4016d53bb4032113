import { type AuditBook, createAuditBook } from '../../main/audit/book.ts';
import { createMarkSeal, createSeal } from '../../main/audit/chain.ts';
import type { HeadKeeper } from '../../main/audit/head.ts';
import type { AuditPage, AuditTrail } from '../../main/orchestrator/ports/index.ts';

/** The key of every audit trail in the tests. */
const key = new Uint8Array(32).fill(7);

export const testSeal = createSeal(key);
export const testMarkSeal = createMarkSeal(key);

const noHead: Pick<HeadKeeper, 'head' | 'matchesTrail' | 'isWithheld'> = {
  head: () => null,
  matchesTrail: () => true,
  isWithheld: false,
};

/** Opens an audit book, by default with a keeper that stores no head. */
export const bookOf = (trail: AuditTrail, seal = testSeal, keeper = noHead): AuditBook =>
  createAuditBook({ trail, seal, markSeal: testMarkSeal, keeper });

export const wholeTrail = { from: null, to: null };

/** Returns a filter. By default, it matches all rows and returns the newest fifty. */
export const auditFilter = (changes: Partial<AuditPage> = {}): AuditPage => ({
  type: null,
  actorId: null,
  targetType: null,
  targetId: null,
  since: null,
  until: null,
  limit: 50,
  offset: 0,
  ...changes,
});
