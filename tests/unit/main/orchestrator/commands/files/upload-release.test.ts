// The reserved bytes of unfinished uploads count against the storage limits.
import { expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';

const minuteMs = 60_000;

// Opens a fleet with a running job whose attempt has an unfinished upload with 10 reserved bytes.
const openWithUpload = async (retries = 0) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: retries, retry_on: ['trainer_exit'] });
  const attemptId = fleet.store.job(job)?.attempt?.id;
  if (attemptId === undefined) throw new Error('the job has no attempt');
  await fleet.store.write(tx =>
    tx.insertUpload({
      file: `file-of-${attemptId}`,
      jobId: job,
      attemptId,
      key: 'a',
      bytes: 100,
      reserved: 10,
      isResumable: true,
      touchedAt: fleet.clock.wall(),
    }),
  );
  const reserved = (): number => fleet.store.storedBytes(job).inAll;
  return { fleet, rig, job, reserved };
};

test.each(['failed', 'cancelled'] as const)('drops unfinished uploads when the job is %s', async status => {
  const { fleet, rig, job, reserved } = await openWithUpload();
  expect(reserved()).toBe(10);
  if (status === 'cancelled') await fleet.cancel(job);
  await rig.report(job, status);
  expect([fleet.job(job).status, reserved()]).toEqual([status, 0]);
});

test('keeps unfinished uploads while the job of a lost worker is pending, and drops them at its next dispatch', async () => {
  const { fleet, rig, job, reserved } = await openWithUpload(1);
  await rig.disconnect();
  await fleet.clock.advance(20 * minuteMs);
  expect([fleet.job(job).status, reserved()]).toEqual(['pending', 10]);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
  await fleet.addIdleWorker();
  expect([fleet.job(job).status, reserved()]).toEqual(['dispatched', 0]);
});

test('drops unfinished uploads of a completed job after ten minutes', async () => {
  const { fleet, rig, job, reserved } = await openWithUpload();
  await rig.report(job, 'completed');
  await fleet.clock.advance(10 * minuteMs);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
  await fleet.clock.advance(1);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(0);
});

test('keeps unfinished uploads of a completed job while its worker has files to upload', async () => {
  const { fleet, rig, job, reserved } = await openWithUpload();
  await rig.report(job, 'completed', { uploads_pending: true });
  await fleet.clock.advance(600 * minuteMs);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
});
