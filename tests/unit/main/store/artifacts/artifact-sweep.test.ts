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
  const parts = quietDeps();
  const clock = createVirtualClock();
  const store = openSqliteStore(newDatabase(), parts);
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
  let releases = 0;
  const start = (): void => {
    const sweep = startArtifactSweep({
      store,
      files: {
        sizeOf: (_, file) => sizeOf(file),
        remove: (_, file) => Promise.resolve(void removed.push(file)),
      },
      releaseUploads: () => Promise.resolve(void (releases += 1)),
      clock,
      time: trustedTimeOf(clock),
      log: parts.log,
    });
    onTestFinished(() => sweep.stop());
  };
  onTestFinished(() => store.close());
  const reserved = (): number => store.storedBytes(jobId('j_1')).inAll;
  return { store, clock, uploadOf, add, start, removed, reserved, releases: () => releases };
}

test('reserves the file size of each upload at the start, and drops non-resumable uploads', async () => {
  const { uploadOf, add, start, removed, reserved } = await openFixture(() => Promise.resolve(10));
  await add(uploadOf('resumable'));
  await add(uploadOf('broken', { isResumable: false }));
  expect(reserved()).toBe(128 * MiB);
  start();
  await expect.poll(reserved).toBe(10);
  await expect.poll(() => removed).toEqual(['broken']);
});

test('keeps the reservation of an upload that resumes while its file is measured', async () => {
  const requested = Promise.withResolvers<undefined>();
  const size = Promise.withResolvers<number>();
  const { store, uploadOf, add, start, reserved, releases } = await openFixture(() => {
    requested.resolve(undefined);
    return size.promise;
  });
  await add(uploadOf('resumed'));
  start();
  await requested.promise;
  await store.write(tx => tx.reserveUpload('resumed', 80 * MiB));
  size.resolve(10);
  await expect.poll(releases).toBe(1);
  expect(reserved()).toBe(80 * MiB);
});

test('releases the uploads of closed attempts every ten minutes', async () => {
  const { clock, start, releases } = await openFixture(() => Promise.resolve(0));
  start();
  await expect.poll(releases).toBe(1);
  await clock.advance(10 * minuteMs);
  await expect.poll(releases).toBe(2);
});
