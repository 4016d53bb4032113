// Limits how many audit rows one source can cause.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';

const window = 600_000;

const rowsOf = (fleet: Fleet, type: string) => fleet.audit().filter(row => row.type === type);
const repeatsIn = (fleet: Fleet) =>
  rowsOf(fleet, 'audit.repeated').map(row => JSON.parse(row.details) as Record<string, unknown>);

describe('audit rows of one worker', () => {
  test('writes thirty rows of a type in ten minutes, and one row that counts the rest', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    for (let time = 0; time < 442; time += 1) await rig.register();
    expect(rowsOf(fleet, 'worker.registered')).toHaveLength(30);
    await fleet.clock.advance(window);
    expect(repeatsIn(fleet)).toEqual([
      { event_type: 'worker.registered', source: rig.id, count: 412, within_s: 600 },
    ]);
    await rig.register();
    expect(rowsOf(fleet, 'worker.registered')).toHaveLength(31);
  });

  test('counts each worker and each type of row separately', async () => {
    const fleet = await openFleet();
    const [noisy, quiet] = [await fleet.addWorker(), await fleet.addWorker()];
    for (let time = 0; time < 50; time += 1) await noisy.register();
    await quiet.register();
    await noisy.disconnect();
    expect(rowsOf(fleet, 'worker.registered').filter(row => row.target_id === quiet.id)).toHaveLength(1);
    expect(rowsOf(fleet, 'worker.offline')).toHaveLength(1);
  });

  test('writes the count of repeats at the latest when the process stops', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    for (let time = 0; time < 40; time += 1) await rig.register();
    await fleet.restart();
    expect(repeatsIn(fleet)).toMatchObject([{ count: 10 }]);
  });

  test('limits the rows of refused reports', async () => {
    const fleet = await openFleet();
    const [owner, other] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    const job = await fleet.runJob(owner);
    for (let time = 0; time < 100; time += 1) await other.report(job, 'completed');
    expect(rowsOf(fleet, 'job.report_refused')).toHaveLength(30);
  });
});

test('counts callers without a valid token by their network', async () => {
  const fleet = await openFleet();
  for (let time = 0; time < 40; time += 1)
    fleet.orchestrator.access.noteRefusal(
      'auth.refused',
      `127.0.0.${time}`,
      'GET /api/queue',
      {},
      'loopback',
    );
  fleet.orchestrator.access.noteRefusal('auth.refused', '10.0.0.9', 'GET /api/queue', {});
  await fleet.clock.settle();
  expect(rowsOf(fleet, 'auth.refused').map(row => row.address)).toHaveLength(31);
  await fleet.clock.advance(window);
  expect(repeatsIn(fleet)).toMatchObject([{ source: 'loopback', count: 10 }]);
});

test('refuses and audits a log chunk for the job of another worker', async () => {
  const fleet = await openFleet();
  const [owner, other] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  const job = await fleet.runJob(owner);
  const attempt = fleet.store.job(job)?.attempt;
  if (!attempt) throw new Error('the job runs');
  const chunk = { attempt_id: attempt.id, after: 0, from: 0, to: 2, text: 'a\n', is_last: false };
  expect(await fleet.orchestrator.files.shipLog(other.id, job, chunk)).toMatchObject({
    ok: false,
    refusal: { code: 'not_your_job' },
  });
  await fleet.clock.settle();
  const [row] = rowsOf(fleet, 'job.report_refused');
  expect(row).toMatchObject({ actor_id: other.id, target_id: job });
  expect(JSON.parse(row?.details ?? '')).toEqual({ status: 'log', code: 'not_your_job' });
});
