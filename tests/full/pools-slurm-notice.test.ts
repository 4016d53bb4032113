import { afterAll, beforeAll, expect, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { valueOf } from '../support/server.ts';
import { startSlurmFleet } from '../support/slurm-fleet.ts';
import { type SlurmLab, startSlurmLab } from '../support/slurm-lab.ts';

let lab: SlurmLab;

beforeAll(async () => {
  lab = await startSlurmLab();
}, 30_000);

afterAll(() => lab.stop());

test('saves a checkpoint when Slurm announces a preemption, and resumes from it without using a retry', async () => {
  const fleet = await startSlurmFleet(lab);
  const pool = await fleet.createPool('spot', { partition: 'spot' });
  const job = await fleet.submitDigits(8);
  const stepBefore = await fleet.until('progress', async () => {
    const step = (await fleet.job(job)).progress?.step ?? 0;
    return step > 200 ? step : null;
  });

  // The partition `high` shares its only machine with `spot`, and has the higher priority.
  const preemptingJob = (
    await lab.slurm(
      'sbatch',
      '--parsable',
      '-p',
      'high',
      '--exclusive',
      '--output=/dev/null',
      '--wrap=sleep 60',
    )
  ).trim();
  await fleet.until('the end of the first attempt', async () =>
    (await fleet.job(job)).status === 'pending' ? true : null,
  );
  const [first] = await fleet.attempts(job);
  expect(first).toMatchObject({ outcome: 'requeued', cause: 'preempted', used_retry: false });
  await lab.slurm('scancel', preemptingJob);

  const resumed = await fleet.until('the second attempt', async () => (await fleet.attempts(job))[1] ?? null);
  expect(resumed.resumed).toMatchObject({ checkpoint: expect.any(String), steps_lost: expect.any(Number) });
  // Only steps after the saved checkpoint were lost.
  expect(resumed.resumed?.step).toBeGreaterThanOrEqual(stepBefore);
  expect(await fleet.jobIn(job, 'completed', 120_000)).toMatchObject({ attempt: 2 });
  const launches = await fleet.until('the end of all launches', async () => {
    const current = await fleet.launches(pool);
    return current.every(({ state }) => state === 'ended') ? current : null;
  });
  expect(launches.at(-1)).toMatchObject({ job_id: job });
  expect(launches[0]).toMatchObject({ outcome: 'finished' });
}, 240_000);

test('trains a job across three wall times, and resumes from a checkpoint each time without using a retry', async () => {
  const fleet = await startSlurmFleet(lab);
  const pool = await fleet.createPool('gpu', { partition: 'gpu', wall_time_s: 60, notice_s: 40 });
  const job = await fleet.submitDigits(900);
  const attempts = await fleet.until(
    'a third attempt that trains',
    async () => {
      const current = await fleet.attempts(job);
      return current.length >= 3 && current[2]?.started_at ? current : null;
    },
    300_000,
  );
  const expectedAttempt = { outcome: 'requeued', cause: 'preempted', used_retry: false };
  expect(attempts).toMatchObject([
    expectedAttempt,
    expectedAttempt,
    { resumed: { checkpoint: expect.any(String) } },
  ]);
  const steps = attempts.map(({ resumed }) => resumed?.step ?? 0);
  expect(steps[1]).toBeGreaterThan(0);
  expect(steps[2]).toBeGreaterThan(steps[1] ?? 0);
  valueOf(await fleet.client.call(queueApi.cancel, { params: { id: job } }));
  await fleet.jobIn(job, 'cancelled', 60_000);
  const launches = await fleet.until('the end of all launches', async () => {
    const current = await fleet.launches(pool);
    return current.every(({ state }) => state === 'ended') ? current : null;
  });
  expect(launches).toHaveLength(3);
  expect(await lab.slurm('squeue', '--me', '-h')).toBe('');
}, 420_000);
