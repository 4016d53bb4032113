import { describe, expect, test } from 'vitest';
import type { AuditFact, AuditPage } from '../../../main/orchestrator/ports/index.ts';
import { auditFilter as filter, testSeal } from '../../support/seal.ts';
import { at, jobId, type OpenStore, workerId } from './builders.ts';

const makeFact = (changes: Partial<AuditFact> = {}): AuditFact => ({
  at: at(1),
  type: 'worker.draining',
  actor: { type: 'admin', id: 'ada', address: '10.0.0.1' },
  target: { type: 'worker', id: workerId('w_1') },
  details: { reason: 'new “disk”\u2028', deadline_s: null },
  ...changes,
});

export function describeAudit(open: OpenStore): void {
  describe('audit trail', () => {
    test('returns no rows for a new audit trail', () => {
      const { audit } = open();
      expect([audit.lastSeq(), audit.after(0, 10), audit.list(filter())]).toEqual([
        0,
        [],
        { rows: [], total: 0 },
      ]);
    });

    test.each<[string, Partial<AuditFact>, object]>([
      ['an admin', {}, { actor_type: 'admin', actor_id: 'ada', address: '10.0.0.1' }],
      [
        'a worker with an unknown address',
        { actor: { type: 'worker', id: workerId('w_1'), address: null } },
        { actor_type: 'worker', actor_id: 'w_1', address: null },
      ],
      [
        'the orchestrator',
        { actor: { type: 'system' } },
        { actor_type: 'system', actor_id: null, address: null },
      ],
      [
        'an admin about a job',
        { type: 'job.completed', target: { type: 'job', id: jobId('j_1') } },
        { type: 'job.completed', target_type: 'job', target_id: 'j_1' },
      ],
    ])('stores an audit row for an action of %s', async (_what, changes, columns) => {
      const store = open();
      const fact = makeFact(changes);
      await store.write(tx => tx.appendAudit(fact));
      const [row] = store.audit.after(0, 10);
      expect(row).toMatchObject({ seq: 1, at: at(1), type: fact.type, ...columns });
      expect(JSON.parse(row?.details ?? '')).toEqual(fact.details);
      expect(row?.hash).toBe(row && testSeal(null, row));
    });

    test('seals each audit row with the hash of the previous row, within a command and across commits', async () => {
      const store = open();
      const append = (n: number) =>
        store.write(tx => {
          tx.appendAudit(makeFact({ at: at(n) }));
          tx.appendAudit(makeFact({ at: at(n), details: {} }));
        });
      await Promise.all([append(1), append(2)]);
      await append(3);
      const rows = store.audit.after(0, 10);
      expect(rows.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      for (const [index, row] of rows.entries())
        expect(row.hash).toBe(testSeal(rows[index - 1]?.hash ?? null, row));
      expect(store.audit.lastSeq()).toBe(6);
    });

    test('gives no audit row an earlier time than the previous row, and stores the clock offset', async () => {
      const store = open();
      const append = (ms: number) => store.write(tx => tx.appendAudit(makeFact({ at: ms, details: {} })));
      await append(at(9));
      await append(at(9) - 7_200_000);
      await append(at(9) - 999);
      await append(at(9) + 5);
      const rows = store.audit.after(0, 10);
      expect(rows.map(row => row.at)).toEqual([at(9), at(9), at(9), at(9) + 5]);
      expect(rows.map((row): unknown => JSON.parse(row.details))).toEqual([
        {},
        { clock_offset_ms: -7_200_000 },
        {},
        {},
      ]);
      for (const [index, row] of rows.entries())
        expect(row.hash).toBe(testSeal(rows[index - 1]?.hash ?? null, row));
    });

    test('stores no audit row and leaves no gap for a failed command', async () => {
      const store = open();
      const failedWrite = store.write(tx => {
        tx.appendAudit(makeFact());
        throw new Error('no');
      });
      const next = store.write(tx => tx.appendAudit(makeFact({ at: at(2) })));
      await expect(failedWrite).rejects.toThrow('no');
      await next;
      expect(store.audit.after(0, 10)).toMatchObject([{ seq: 1, at: at(2) }]);
    });

    test('returns audit rows after any number, up to the limit', async () => {
      const { audit, write } = open();
      await write(tx => {
        for (let n = 1; n <= 5; n++) tx.appendAudit(makeFact({ at: at(n) }));
      });
      const seqs = (after: number, limit: number) => audit.after(after, limit).map(({ seq }) => seq);
      expect([seqs(0, 10), seqs(2, 2), seqs(5, 10), seqs(99, 1), seqs(Number.MIN_SAFE_INTEGER, 1)]).toEqual([
        [1, 2, 3, 4, 5],
        [3, 4],
        [],
        [],
        [1],
      ]);
    });

    test('lists audit rows newest first, page by page, filtered by type and target', async () => {
      const { audit, write } = open();
      await write(tx => {
        for (const type of ['worker.draining', 'worker.undrained'] as const) {
          for (const id of ['w_1', 'w_2'])
            tx.appendAudit(makeFact({ type, target: { type: 'worker', id: workerId(id) } }));
        }
      });
      const list = (changes: Partial<AuditPage>) => {
        const { rows, total } = audit.list(filter(changes));
        return [rows.map(({ seq }) => seq), total];
      };
      expect(list({})).toEqual([[4, 3, 2, 1], 4]);
      expect(list({ limit: 2, offset: 1 })).toEqual([[3, 2], 4]);
      expect(list({ type: 'worker.undrained' })).toEqual([[4, 3], 2]);
      expect(list({ targetId: 'w_1' })).toEqual([[3, 1], 2]);
      expect(list({ type: 'worker.draining', targetId: 'w_2' })).toEqual([[2], 1]);
      expect(list({ type: 'job.failed' })).toEqual([[], 0]);
      expect(list({ offset: 4 })).toEqual([[], 4]);
    });
  });
}
