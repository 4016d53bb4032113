import { describe, expect, test } from 'vitest';
import type { Store } from '../../../main/orchestrator/ports/index.ts';
import { grow } from '../../../main/orchestrator/rules/metric-rules.ts';
import { AttemptId } from '../../../protocol/ids.ts';
import { emptyPayload, jobId, makeJob, type OpenStore } from './builders.ts';
import type { Bucket } from '../../../main/orchestrator/ports/outputs.ts';

const a1 = AttemptId.parse('a_1');
const a2 = AttemptId.parse('a_2');
const run = { attemptId: a1, jobId: jobId('j_1') };

const buckets = (...values: readonly (number | null)[]): readonly Bucket[] =>
  grow(
    [],
    values.map((value, n) => ({ step: n % 2 === 0 ? n : null, ms: n * 1.5, value })),
    1,
  );

export function describeMetrics(open: OpenStore): void {
  const withJobs = async (): Promise<Store> => {
    const store = open();
    await store.write(tx => [1, 2].forEach(order => tx.insertJob(makeJob(order), emptyPayload)));
    return store;
  };

  describe('curves', () => {
    test('stores curves without loss of precision, and lists their keys', async () => {
      const store = await withJobs();
      const odd = buckets(0.1, -Number.MAX_VALUE, Number.MIN_VALUE, null, -0, 1e300);
      await store.write(tx => {
        tx.putSeries(run, 'loss', { page: 0, width: 1 }, [odd, buckets(1)]);
        tx.putSeries(run, 'a', { page: 0, width: 4 }, [buckets(2)]);
        tx.putSeries({ ...run, attemptId: a2 }, 'loss', { page: 0, width: 1 }, [buckets(3)]);
      });
      expect(store.series(a1, 'loss')).toEqual([...odd, ...buckets(1)]);
      expect(store.seriesTail(a1, 'loss')).toEqual({ page: 1, width: 1, buckets: buckets(1) });
      expect(store.seriesTail(a1, 'a')).toMatchObject({ page: 0, width: 4 });
      expect([store.seriesTail(a1, 'b'), store.series(a1, 'b')]).toEqual([null, []]);
      expect(store.seriesKeys(a1)).toEqual(['loss', 'a']);
      expect(store.seriesKeys(a2)).toEqual(['loss']);
      expect(store.metricKeys(jobId('j_1'))).toEqual(['loss', 'a']);
      expect(store.metricKeys(jobId('j_2'))).toEqual([]);
    });

    test('replaces all pages of a curve from a given page on', async () => {
      const store = await withJobs();
      const put = (page: number, width: number, ...pages: (readonly Bucket[])[]) =>
        store.write(tx => tx.putSeries(run, 'loss', { page, width }, pages));
      await put(0, 1, buckets(1), buckets(2), buckets(3), buckets(4));
      await put(1, 1, buckets(7));
      expect(store.series(a1, 'loss').map(({ last }) => last)).toEqual([1, 7]);
      await put(0, 8, buckets(9));
      expect(store.seriesTail(a1, 'loss')).toEqual({ page: 0, width: 8, buckets: buckets(9) });
    });

    test('stores the next point number, the last step and the last time for the curves of an attempt', async () => {
      const store = await withJobs();
      expect(store.metricRun(a1)).toBeNull();
      const first = { ...run, next: 1, lastStep: null, lastMs: 0.5 };
      await store.write(tx => tx.putMetricRun(first));
      expect(store.metricRun(a1)).toEqual(first);
      await store.write(tx => tx.putMetricRun({ ...first, next: 9, lastStep: 3.5 }));
      expect(store.metricRun(a1)).toEqual({ ...first, next: 9, lastStep: 3.5 });
    });

    test('removes curves with their job', async () => {
      const store = await withJobs();
      await store.write(tx => {
        tx.putMetricRun({ ...run, next: 1, lastStep: null, lastMs: 0 });
        tx.putSeries(run, 'loss', { page: 0, width: 1 }, [buckets(1), buckets(2)]);
        tx.putSeries({ attemptId: a2, jobId: jobId('j_2') }, 'loss', { page: 0, width: 1 }, [buckets(3)]);
      });
      await store.write(tx => tx.removeJob(jobId('j_1')));
      expect([store.metricRun(a1), store.series(a1, 'loss'), store.metricKeys(jobId('j_1'))]).toEqual([
        null,
        [],
        [],
      ]);
      expect(store.series(a2, 'loss')).toHaveLength(1);
    });
  });
}
