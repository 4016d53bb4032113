import { expect, onTestFinished, test } from 'vitest';
import type { Upload } from '../../../../../main/orchestrator/ports/index.ts';
import { startArtifactSweep } from '../../../../../main/store/artifacts/artifact-sweep.ts';
import { openSqliteStore } from '../../../../../main/store/sqlite-store.ts';
import { AttemptId } from '../../../../../protocol/ids.ts';
import { emptyPayload, jobId, makeJob, quietDeps } from '../../../../contract/store/builders.ts';
import { newDatabase } from '../../../../support/new-database.ts';
import { createVirtualClock, trustedTimeOf } from '../../../../support/virtual-clock.ts';

const MiB = 1_048_576;
const minuteMs = 60_000;

async function openFixture(sizeOf: (file: string) => Promise<number>) {
  const deps = quietDeps();
  const clock = createVirtualClock();
  const store = openSqliteStore(newDatabase(), deps);
  const uploadOf = (file: string, changes: Partial<Upload> = {}): Upload => ({
    file,
    jobId: jobId('j_1'),
    attemptId: AttemptId.parse('a_1'),
    key: file,
    bytes: 1_000 * MiB,
    reserved: 64 * MiB,
    isResumable: true,
    touchedAt: clock.wall(),
    ...changes,
  });
  const add = (upload: Upload): Promise<void> => store.write(tx => tx.insertUpload(upload));
  await store.write(tx => tx.insertJob(makeJob(1), emptyPayload));
  const removed: string[] = [];
  let releaseCount = 0;
  const start = (): void => {
    const sweep = startArtifactSweep({
      store,
      files: {
        sizeOf: (_, file) => sizeOf(file),
        remove: (_, file) => Promise.resolve(void removed.push(file)),
      },
      releaseUploads: () => Promise.resolve(void (releaseCount += 1)),
      clock,
      time: trustedTimeOf(clock),
      log: deps.log,
    });
    onTestFinished(() => sweep.stop());
  };
  onTestFinished(() => store.close());
  const reservedBytes = (): number => store.storedBytes(jobId('j_1')).inAll;
  return { store, clock, uploadOf, add, start, removed, reservedBytes, releaseCount: () => releaseCount };
}

test('reduces the reservation of each upload to its file size at the start, and drops non-resumable uploads', async () => {
  const { uploadOf, add, start, removed, reservedBytes } = await openFixture(() => Promise.resolve(10));
  await add(uploadOf('resumable'));
  await add(uploadOf('broken', { isResumable: false }));
  expect(reservedBytes()).toBe(128 * MiB);
  start();
  await expect.poll(reservedBytes).toBe(10);
  await expect.poll(() => removed).toEqual(['broken']);
});

test('keeps the reservation of an upload that resumes while its file is measured', async () => {
  const sizeRequested = Promise.withResolvers<undefined>();
  const size = Promise.withResolvers<number>();
  const { store, uploadOf, add, start, reservedBytes, releaseCount } = await openFixture(() => {
    sizeRequested.resolve(undefined);
    return size.promise;
  });
  await add(uploadOf('resumed'));
  start();
  await sizeRequested.promise;
  await store.write(tx => tx.reserveUpload('resumed', 80 * MiB));
  size.resolve(10);
  await expect.poll(releaseCount).toBe(1);
  expect(reservedBytes()).toBe(80 * MiB);
});

test('releases the uploads of closed attempts every ten minutes', async () => {
  const { clock, start, releaseCount } = await openFixture(() => Promise.resolve(0));
  start();
  await expect.poll(releaseCount).toBe(1);
  await clock.advance(10 * minuteMs);
  await expect.poll(releaseCount).toBe(2);
});
