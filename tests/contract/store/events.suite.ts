import { describe, expect, test } from 'vitest';
import type { EventFact } from '../../../main/orchestrator/ports/index.ts';
import { at, jobId, workerId, type OpenStore } from './builders.ts';

const fact: EventFact = { kind: 'worker', type: 'worker.back', workerId: workerId('w_1') };

export function describeEvents(open: OpenStore): void {
  describe('events', () => {
    test('returns no events from a new store', () => {
      const store = open();
      expect(store.eventRange()).toEqual({ first: 0, last: 0 });
      expect(store.eventsAfter(0, 10)).toEqual([]);
    });

    test.each<EventFact>([
      fact,
      { kind: 'job', type: 'job.submitted', jobId: jobId('j_1'), workerId: null, attempt: 0, cause: null },
      {
        kind: 'job',
        type: 'job.failed',
        jobId: jobId('j_1'),
        workerId: workerId('w_1'),
        attempt: 3,
        cause: 'out_of_memory',
      },
    ])('stores the event %j unchanged, with a number', async event => {
      const store = open();
      const stored = await store.write(tx => tx.appendEvent(event, at(1)));
      expect(stored).toEqual({ ...event, seq: 1, at: at(1) });
      expect(store.eventsAfter(0, 10)).toEqual([stored]);
    });

    test('numbers events from 1 and returns them in order', async () => {
      const store = open();
      await Promise.all([1, 2, 3, 4, 5].map(n => store.write(tx => tx.appendEvent(fact, at(n)))));
      const seqs = (after: number, limit: number) => store.eventsAfter(after, limit).map(({ seq }) => seq);
      expect(store.eventRange()).toEqual({ first: 1, last: 5 });
      expect(seqs(0, 10)).toEqual([1, 2, 3, 4, 5]);
      expect(seqs(2, 2)).toEqual([3, 4]);
      expect(seqs(5, 10)).toEqual([]);
      expect(seqs(99, 10)).toEqual([]);
      expect(store.eventsAfter(3, 1)[0]?.at).toBe(at(4));
    });

    test('leaves no gap in the event numbers after a failed command', async () => {
      const store = open();
      const failedWrite = store.write(tx => {
        tx.appendEvent(fact, at(1));
        throw new Error('no');
      });
      const next = store.write(tx => tx.appendEvent(fact, at(2)).seq);
      await expect(failedWrite).rejects.toThrow('no');
      expect(await next).toBe(1);
    });

    test('keeps about the newest 100,000 events, and continues the numbers', async () => {
      const store = open();
      await store.write(tx => {
        for (let n = 0; n < 101_500; n++) tx.appendEvent(fact, at(1));
      });
      const { first, last } = store.eventRange();
      expect(last).toBe(101_500);
      expect(last - first).toBeGreaterThanOrEqual(100_000 - 1);
      expect(first).toBeGreaterThan(1);
      expect(store.eventsAfter(0, 1)[0]?.seq).toBe(first);
      expect(await store.write(tx => tx.appendEvent(fact, at(2)).seq)).toBe(101_501);
    });
  });
}
