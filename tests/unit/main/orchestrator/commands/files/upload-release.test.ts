// The reserved bytes of unfinished uploads count against the storage limits.
import { expect, test } from 'vitest';
import type { AttemptId, JobId } from '../../../../../../protocol/ids.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';

const minute = 60_000;

const open = async (retries = 0) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig, { max_retries: retries, retry_on: ['trainer_exit'] });
  const insert = (id: JobId, attemptId: AttemptId): Promise<void> =>
    fleet.store.write(tx =>
      tx.insertUpload({
        file: `file-of-${attemptId}`,
        jobId: id,
        attemptId,
        key: 'a',
        bytes: 100,
        reserved: 10,
        isResumable: true,
        touchedAt: fleet.clock.wall(),
      }),
    );
  const attempt = fleet.store.job(job)?.attempt?.id;
  if (attempt === undefined) throw new Error('the job has no attempt');
  await insert(job, attempt);
  const reserved = (): number => fleet.store.storedBytes(job).inAll;
  return { fleet, rig, job, insert, reserved };
};

test.each(['failed', 'cancelled'] as const)('drops unfinished uploads when the job is %s', async status => {
  const { fleet, rig, job, reserved } = await open();
  expect(reserved()).toBe(10);
  if (status === 'cancelled') await fleet.cancel(job);
  await rig.report(job, status);
  expect([fleet.job(job).status, reserved()]).toEqual([status, 0]);
});

test('keeps unfinished uploads while the job of a lost worker is pending, until it starts', async () => {
  const { fleet, rig, job, reserved } = await open(1);
  await rig.disconnect();
  await fleet.clock.advance(20 * minute);
  expect([fleet.job(job).status, reserved()]).toEqual(['pending', 10]);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
  await fleet.addIdleWorker();
  expect([fleet.job(job).status, reserved()]).toEqual(['dispatched', 0]);
});

test('keeps unfinished uploads of a completed job for ten minutes', async () => {
  const { fleet, rig, job, reserved } = await open();
  await rig.report(job, 'completed');
  await fleet.clock.advance(10 * minute);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
  await fleet.clock.advance(1);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(0);
});

test('keeps unfinished uploads of a completed job while its worker has files to upload', async () => {
  const { fleet, rig, job, reserved } = await open();
  await rig.report(job, 'completed', { uploads_pending: true });
  await fleet.clock.advance(600 * minute);
  await fleet.orchestrator.files.releaseClosedUploads();
  expect(reserved()).toBe(10);
});
