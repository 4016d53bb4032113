import { describe, expect, test } from 'vitest';
import { asLive, jobId, makeJob, makeWorker, type OpenStore, put, workerId } from './builders.ts';

const about = {
  name: 'low rate',
  tags: ['a', 'b'],
  group: 'lr',
  sweep: { lr: 1e-4, 'a.b': null },
  template: 'flux',
};

export function describeAbout(open: OpenStore): void {
  describe('texts about a job', () => {
    test('replaces name, tags and group of a running job, and keeps its sweep values', async () => {
      const store = open();
      await store.write(tx => tx.insertWorker(makeWorker({ id: workerId('w_1') }), 'hash'));
      const job = makeJob(1, { spec: { ...makeJob(1).spec, about } });
      const running = asLive(job, 'running');
      await put(store, job, running);
      expect(store.job(job.id)?.spec.about).toEqual(about);
      const next = {
        ...running,
        spec: { ...running.spec, about: { ...about, name: null, tags: [], group: null } },
      };
      expect(await store.write(tx => tx.replaceJob(running, next))).toBe(true);
      expect(store.job(job.id)).toEqual(next);
    });

    test('replaces and removes the notes of one job', async () => {
      const store = open();
      await put(store, makeJob(1));
      await put(store, makeJob(2));
      const [firstJob, secondJob] = [jobId('j_1'), jobId('j_2')];
      expect(store.notesOf(firstJob)).toBeNull();
      await store.write(tx => {
        tx.setNotes(firstJob, 'first');
        tx.setNotes(secondJob, 'other');
        tx.setNotes(firstJob, 'second\nline');
      });
      expect([store.notesOf(firstJob), store.notesOf(secondJob)]).toEqual(['second\nline', 'other']);
      await store.write(tx => tx.setNotes(firstJob, null));
      expect([store.notesOf(firstJob), store.notesOf(secondJob)]).toEqual([null, 'other']);
    });

    test('removes the notes together with their job', async () => {
      const store = open();
      await put(store, makeJob(1));
      await store.write(tx => {
        tx.setNotes(jobId('j_1'), 'notes');
        tx.removeJob(jobId('j_1'));
      });
      expect(store.notesOf(jobId('j_1'))).toBeNull();
    });
  });
}
