import { describe, expect, test } from 'vitest';
import type { QueueSettings } from '../../../main/orchestrator/ports/index.ts';
import { at, jobId, type OpenStore, putEnded } from './builders.ts';

export function describeQueueSettings(open: OpenStore): void {
  describe('queue settings', () => {
    test('returns null before the first queue settings, and then the newest queue settings', async () => {
      const store = open();
      expect(store.queueSettings()).toBeNull();
      const first: QueueSettings = {
        pause: { note: 'größe “x”\u2028', by: 'ada', since: at(1) },
        maxRunning: 0,
        maxRunningPerUser: null,
        maxRunningPerTeam: 4,
        teamLimits: { nlp: null, vision: 2 },
        fairShare: false,
        approvalFor: ['*', 'ci'],
        maxLocalGpus: 2,
        maxLocalJobs: 0,
      };
      await store.write(tx => tx.setQueueSettings(first));
      expect(store.queueSettings()).toEqual(first);
      const second: QueueSettings = { ...first, pause: null, maxRunning: null, maxRunningPerUser: 3 };
      await store.write(tx => tx.setQueueSettings(second));
      expect(store.queueSettings()).toEqual(second);
    });

    test('returns the previous queue settings when a command is rolled back', async () => {
      const store = open();
      const before: QueueSettings = {
        pause: null,
        maxRunning: 2,
        maxRunningPerUser: null,
        maxRunningPerTeam: null,
        teamLimits: {},
        fairShare: true,
        approvalFor: [],
        maxLocalGpus: null,
        maxLocalJobs: 1,
      };
      await store.write(tx => tx.setQueueSettings(before));
      const failedWrite = store.write(tx => {
        tx.setQueueSettings({ ...before, maxRunning: 9 });
        throw new Error('no');
      });
      await expect(failedWrite).rejects.toThrow('no');
      expect(store.queueSettings()).toEqual(before);
    });
  });

  describe('submissions with an idempotency key', () => {
    const submission = (n: number, seconds: number) => ({
      jobId: jobId(`j_${n}`),
      fingerprint: `f${n}`,
      at: at(seconds),
    });

    test('finds a submission by user and key', async () => {
      const store = open();
      await store.write(tx => {
        tx.rememberSubmission('ada', 'k', submission(1, 1), 0);
        tx.rememberSubmission('bob', 'k', submission(2, 2), 0);
        tx.rememberSubmission('ada', 'K', submission(3, 3), 0);
      });
      expect(store.submissionOf('ada', 'k')).toEqual(submission(1, 1));
      expect(store.submissionOf('bob', 'k')).toEqual(submission(2, 2));
      expect(store.submissionOf('ada', 'K')).toEqual(submission(3, 3));
      expect(store.submissionOf('eve', 'k')).toBeNull();
      expect(store.submissionOf('ada', 'k2')).toBeNull();
      await store.write(tx => tx.rememberSubmission('ada', 'k', submission(4, 4), 0));
      expect(store.submissionOf('ada', 'k')).toEqual(submission(4, 4));
    });

    test('forgets a submission by age, and not when its job is removed', async () => {
      const store = open();
      await putEnded(store, 1, at(9));
      await store.write(tx => {
        tx.rememberSubmission('ada', 'old', submission(1, 10), 0);
        tx.rememberSubmission('ada', 'new', submission(1, 20), 0);
        tx.removeJob(jobId('j_1'));
      });
      expect(store.submissionOf('ada', 'old')).toEqual(submission(1, 10));
      await store.write(tx => tx.rememberSubmission('bob', 'k', submission(2, 30), at(20)));
      expect(store.submissionOf('ada', 'old')).toBeNull();
      expect(store.submissionOf('ada', 'new')).toEqual(submission(1, 20));
    });
  });
}
