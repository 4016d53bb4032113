import { describe, expect, test } from 'vitest';
import type { Artifact, Store, Upload } from '../../../main/orchestrator/ports/index.ts';
import { AttemptId } from '../../../protocol/ids.ts';
import { at, emptyPayload, jobId, makeJob, type OpenStore } from './builders.ts';

const attempt = AttemptId.parse('a_1');

const makeArtifact = (key: string, changes: Partial<Artifact> = {}): Omit<Artifact, 'order'> => ({
  jobId: jobId('j_1'),
  attempt: 1,
  key,
  kind: 'other',
  bytes: 10,
  sha256: '0'.repeat(64),
  file: `file-of-${key}`,
  createdAt: at(1),
  ...changes,
});

const makeUpload = (key: string, changes: Partial<Upload> = {}): Upload => ({
  file: `upload-of-${key}`,
  jobId: jobId('j_1'),
  attemptId: attempt,
  key,
  bytes: 100,
  reserved: 30,
  isResumable: true,
  touchedAt: at(1),
  ...changes,
});

const droppedFiles = (store: Store): readonly string[] =>
  store
    .droppedFiles(100)
    .map(({ file }) => file)
    .toSorted();

export function describeArtifacts(open: OpenStore): void {
  const withJobs = async (): Promise<Store> => {
    const store = open();
    await store.write(tx => [1, 2].forEach(order => tx.insertJob(makeJob(order), emptyPayload)));
    return store;
  };

  describe('artifacts', () => {
    test('lists the artifacts of a job newest first, page by page', async () => {
      const store = await withJobs();
      await store.write(tx => {
        for (const key of ['a', 'b', 'c']) tx.putArtifact(makeArtifact(key));
        tx.putArtifact(makeArtifact('a', { jobId: jobId('j_2'), file: 'other' }));
      });
      const first = store.artifacts(jobId('j_1'), null, 2);
      expect(first.map(({ key }) => key)).toEqual(['c', 'b']);
      expect(store.artifacts(jobId('j_1'), first[1]?.order ?? 0, 2).map(({ key }) => key)).toEqual(['a']);
      expect(store.artifact(jobId('j_2'), 'a')).toMatchObject({ file: 'other', bytes: 10 });
      expect(store.artifact(jobId('j_2'), 'b')).toBeNull();
      expect(store.artifactFigures(jobId('j_1'))).toEqual({ count: 3, bytes: 30 });
      expect(store.artifactFigures(jobId('j_9'))).toEqual({ count: 0, bytes: 0 });
    });

    test('finds the files of a folder, and the models of a job', async () => {
      const store = await withJobs();
      await store.write(tx => {
        for (const key of ['run/b.txt', 'run/a/c.txt', 'run.txt', 'run0/d', 'Run/e'])
          tx.putArtifact(makeArtifact(key));
        tx.putArtifact(makeArtifact('m.safetensors', { kind: 'final_model' }));
        tx.putArtifact(makeArtifact('checkpoint-1.pt', { kind: 'checkpoint' }));
        tx.putArtifact(makeArtifact('run/f', { jobId: jobId('j_2'), file: 'other' }));
      });
      const below = (limit: number) => store.artifactsBelow(jobId('j_1'), 'run', limit).map(({ key }) => key);
      expect(below(10)).toEqual(['run/a/c.txt', 'run/b.txt']);
      expect(below(1)).toEqual(['run/a/c.txt']);
      const models = store.modelFiles(jobId('j_1'), 10).map(({ key }) => key);
      expect(models.toSorted()).toEqual(['checkpoint-1.pt', 'm.safetensors']);
    });

    test('lists samples of all jobs or of the given jobs, newest first, page by page', async () => {
      const store = await withJobs();
      const sample = { kind: 'sample_image' } as const;
      await store.write(tx => {
        tx.putArtifact(makeArtifact('a.png', sample));
        tx.putArtifact(makeArtifact('b.png', { ...sample, jobId: jobId('j_2') }));
        tx.putArtifact(makeArtifact('model'));
        tx.putArtifact(makeArtifact('c.png', sample));
      });
      const keysOf = (jobs: readonly string[], before: number | null, limit: number) =>
        store.samples(jobs.map(jobId), before, limit).map(({ key }) => key);
      expect(keysOf([], null, 10)).toEqual(['c.png', 'b.png', 'a.png']);
      const [newest] = store.samples([], null, 1);
      expect(newest?.key).toBe('c.png');
      expect(keysOf([], newest?.order ?? 0, 1)).toEqual(['b.png']);
      expect(keysOf(['j_1'], null, 10)).toEqual(['c.png', 'a.png']);
      expect(keysOf(['j_1', 'j_2'], null, 2)).toEqual(['c.png', 'b.png']);
      expect(keysOf(['j_2', 'j_9'], newest?.order ?? 0, 10)).toEqual(['b.png']);
    });

    test('replaces an artifact with the same key, and drops the old file', async () => {
      const store = await withJobs();
      await store.write(tx => tx.putArtifact(makeArtifact('a', { file: 'one' })));
      await store.write(tx => tx.putArtifact(makeArtifact('a', { file: 'two', bytes: 5 })));
      expect(store.artifact(jobId('j_1'), 'a')).toMatchObject({ file: 'two', bytes: 5 });
      expect(droppedFiles(store)).toEqual(['one']);
      await store.write(tx => tx.forgetDropped(['one', 'unknown']));
      expect(droppedFiles(store)).toEqual([]);
    });

    test('drops the files of a removed artifact and of a removed job', async () => {
      const store = await withJobs();
      await store.write(tx => {
        for (const key of ['a', 'b']) tx.putArtifact(makeArtifact(key));
        tx.insertUpload(makeUpload('c'));
        tx.putArtifact(makeArtifact('a', { jobId: jobId('j_2'), file: 'kept' }));
      });
      expect(await store.write(tx => tx.removeArtifact(jobId('j_1'), 'a'))).toBe(true);
      expect(await store.write(tx => tx.removeArtifact(jobId('j_1'), 'a'))).toBe(false);
      expect(droppedFiles(store)).toEqual(['file-of-a']);
      await store.write(tx => tx.removeJob(jobId('j_1')));
      expect(droppedFiles(store)).toEqual(['file-of-a', 'file-of-b', 'upload-of-c']);
      expect(store.artifact(jobId('j_2'), 'a')?.file).toBe('kept');
      expect(store.upload(attempt, 'c')).toBeNull();
    });

    test('drops a shared file with its last artifact, and counts its bytes once', async () => {
      const store = await withJobs();
      const content = { bytes: 10, sha256: '0'.repeat(64) };
      await store.write(tx => {
        for (const key of ['a', 'b']) tx.putArtifact(makeArtifact(key, { file: 'shared' }));
        tx.putArtifact(makeArtifact('c', { file: 'own', sha256: '1'.repeat(64) }));
      });
      expect(store.artifactWith(jobId('j_1'), content)).toMatchObject({ key: 'a', file: 'shared' });
      expect(store.artifactWith(jobId('j_1'), { ...content, bytes: 11 })).toBeNull();
      expect(store.artifactWith(jobId('j_2'), content)).toBeNull();
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 20, filesOfJob: 3, inAll: 20 });
      await store.write(tx => tx.removeArtifact(jobId('j_1'), 'a'));
      expect([droppedFiles(store), store.storedBytes(jobId('j_1')).inAll]).toEqual([[], 20]);
      await store.write(tx => tx.removeArtifact(jobId('j_1'), 'b'));
      expect([droppedFiles(store), store.storedBytes(jobId('j_1')).inAll]).toEqual([['shared'], 10]);
      await store.write(tx => tx.removeJob(jobId('j_1')));
      expect([droppedFiles(store), store.storedBytes(jobId('j_1')).inAll]).toEqual([['own', 'shared'], 0]);
    });

    test('drops a shared file once when its job is removed', async () => {
      const store = await withJobs();
      await store.write(tx => {
        for (const key of ['a', 'b']) tx.putArtifact(makeArtifact(key, { file: 'shared' }));
      });
      await store.write(tx => tx.removeJob(jobId('j_1')));
      expect([droppedFiles(store), store.storedBytes(jobId('j_1'))]).toEqual([
        ['shared'],
        { ofJob: 0, filesOfJob: 0, inAll: 0 },
      ]);
    });

    test('refuses an artifact of an unknown job', async () => {
      const store = await withJobs();
      await expect(
        store.write(tx => tx.putArtifact(makeArtifact('a', { jobId: jobId('j_9') }))),
      ).rejects.toThrow('FOREIGN');
    });
  });

  describe('uploads', () => {
    test('counts the announced size of uploads per job, and the reserved size of the uploads of all jobs', async () => {
      const store = await withJobs();
      await store.write(tx => {
        tx.putArtifact(makeArtifact('a'));
        tx.insertUpload(makeUpload('b'));
        tx.insertUpload(makeUpload('b', { file: 'x', isResumable: false, bytes: 1_000 }));
        tx.putArtifact(makeArtifact('a', { jobId: jobId('j_2'), file: 'y', bytes: 5 }));
      });
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 1_110, filesOfJob: 3, inAll: 75 });
      expect(store.storedBytes(jobId('j_9'))).toEqual({ ofJob: 0, filesOfJob: 0, inAll: 75 });
      expect(await store.write(tx => tx.reserveUpload('x', 900))).toBe(true);
      expect(await store.write(tx => tx.reserveUpload('unknown', 900))).toBe(false);
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 1_110, filesOfJob: 3, inAll: 945 });
      await store.write(tx => {
        tx.putArtifact(makeArtifact('a', { file: 'z', bytes: 7 }));
        tx.removeUpload('x');
        tx.removeUploads(at(10));
      });
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 7, filesOfJob: 1, inAll: 12 });
      await store.write(tx => tx.removeJob(jobId('j_1')));
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 0, filesOfJob: 0, inAll: 5 });
    });

    test('finds the resumable upload of an attempt and key', async () => {
      const store = await withJobs();
      await store.write(tx => tx.insertUpload(makeUpload('a')));
      await store.write(tx => tx.insertUpload(makeUpload('a', { file: 'x', isResumable: false })));
      expect(store.upload(attempt, 'a')).toEqual(makeUpload('a'));
      expect(store.upload(AttemptId.parse('a_2'), 'a')).toBeNull();
      await expect(store.write(tx => tx.insertUpload(makeUpload('a', { file: 'y' })))).rejects.toThrow(
        'UNIQUE',
      );
    });

    test('drops all uploads of an attempt or of a job together', async () => {
      const store = await withJobs();
      const other = { attemptId: AttemptId.parse('a_2') };
      await store.write(tx => {
        tx.insertUpload(makeUpload('a'));
        tx.insertUpload(makeUpload('b', { isResumable: false }));
        tx.insertUpload(makeUpload('c', other));
        tx.insertUpload(makeUpload('d', { ...other, jobId: jobId('j_2') }));
      });
      expect(store.uploads().map(({ key }) => key)).toEqual(['a', 'c', 'd']);
      expect(store.uploaders()).toHaveLength(3);
      expect(await store.write(tx => tx.removeUploadsOf(jobId('j_1'), attempt))).toBe(2);
      expect(droppedFiles(store)).toEqual(['upload-of-a', 'upload-of-b']);
      expect(await store.write(tx => tx.removeUploadsOf(jobId('j_1'), null))).toBe(1);
      expect(store.uploads()).toEqual([makeUpload('d', { ...other, jobId: jobId('j_2') })]);
      expect(store.storedBytes(jobId('j_1'))).toEqual({ ofJob: 0, filesOfJob: 0, inAll: 30 });
    });

    test('keeps the file of an upload that becomes an artifact, and drops the files of other uploads', async () => {
      const store = await withJobs();
      await store.write(tx => {
        tx.insertUpload(makeUpload('a'));
        tx.insertUpload(makeUpload('b'));
        tx.putArtifact(makeArtifact('a', { file: 'upload-of-a' }));
        tx.removeUpload('upload-of-a');
        tx.removeUpload('upload-of-b');
      });
      expect(droppedFiles(store)).toEqual(['upload-of-b']);
    });

    test('drops uploads that are too old or cannot be resumed', async () => {
      const store = await withJobs();
      await store.write(tx => {
        tx.insertUpload(makeUpload('old', { touchedAt: at(1) }));
        tx.insertUpload(makeUpload('touched', { touchedAt: at(1) }));
        tx.insertUpload(makeUpload('new', { touchedAt: at(20) }));
        tx.insertUpload(makeUpload('broken', { touchedAt: at(20), isResumable: false }));
      });
      expect(await store.write(tx => tx.touchUpload('upload-of-touched', at(15)))).toBe(true);
      expect(await store.write(tx => tx.touchUpload('unknown', at(15)))).toBe(false);
      await store.write(tx => tx.removeUploads(at(10)));
      expect(droppedFiles(store)).toEqual(['upload-of-old']);
      await store.write(tx => tx.removeUploads(null));
      expect(droppedFiles(store)).toEqual(['upload-of-broken', 'upload-of-old']);
      expect(['touched', 'new'].map(key => store.upload(attempt, key)?.key)).toEqual(['touched', 'new']);
    });
  });
}
