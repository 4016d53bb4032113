// Tests how many audit rows one source, such as a worker or a network address, can cause.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import type { Fleet } from '../../../../support/fleet.ts';

const windowMs = 600_000;

const rowsOf = (fleet: Fleet, type: string) => fleet.audit().filter(row => row.type === type);
const repeatCounts = (fleet: Fleet) =>
  rowsOf(fleet, 'audit.repeated').map(row => JSON.parse(row.details) as Record<string, unknown>);

describe('audit rows of one worker', () => {
  test('writes at most thirty rows of a type in ten minutes, and one row that counts the omitted rows', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    for (let n = 0; n < 442; n += 1) await rig.register();
    expect(rowsOf(fleet, 'worker.registered')).toHaveLength(30);
    await fleet.clock.advance(windowMs);
    expect(repeatCounts(fleet)).toEqual([
      { event_type: 'worker.registered', source: rig.id, count: 412, within_s: 600 },
    ]);
    await rig.register();
    expect(rowsOf(fleet, 'worker.registered')).toHaveLength(31);
  });

  test('counts each worker and each type of row separately', async () => {
    const fleet = await openFleet();
    const [noisyRig, quietRig] = [await fleet.addWorker(), await fleet.addWorker()];
    for (let n = 0; n < 50; n += 1) await noisyRig.register();
    await quietRig.register();
    await noisyRig.disconnect();
    expect(rowsOf(fleet, 'worker.registered').filter(row => row.target_id === quietRig.id)).toHaveLength(1);
    expect(rowsOf(fleet, 'worker.offline')).toHaveLength(1);
  });

  test('writes the count of omitted rows at the latest when the process stops', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    for (let n = 0; n < 40; n += 1) await rig.register();
    await fleet.restart();
    expect(repeatCounts(fleet)).toMatchObject([{ count: 10 }]);
  });

  test('limits the audit rows about refused reports of one worker', async () => {
    const fleet = await openFleet();
    const [ownerRig, otherRig] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
    const job = await fleet.runJob(ownerRig);
    for (let n = 0; n < 100; n += 1) await otherRig.report(job, 'completed');
    expect(rowsOf(fleet, 'job.report_refused')).toHaveLength(30);
  });
});

test('limits the audit rows about calls without a valid token, separately for each network', async () => {
  const fleet = await openFleet();
  for (let n = 0; n < 40; n += 1)
    fleet.orchestrator.access.noteRefusal('auth.refused', `127.0.0.${n}`, 'GET /api/queue', {}, 'loopback');
  fleet.orchestrator.access.noteRefusal('auth.refused', '10.0.0.9', 'GET /api/queue', {});
  await fleet.clock.settle();
  expect(rowsOf(fleet, 'auth.refused').map(row => row.address)).toHaveLength(31);
  await fleet.clock.advance(windowMs);
  expect(repeatCounts(fleet)).toMatchObject([{ source: 'loopback', count: 10 }]);
});

test('refuses and audits a log chunk for the job of another worker', async () => {
  const fleet = await openFleet();
  const [ownerRig, otherRig] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  const job = await fleet.runJob(ownerRig);
  const attempt = fleet.store.job(job)?.attempt;
  if (!attempt) throw new Error('the job has no attempt');
  const chunk = { attempt_id: attempt.id, after: 0, from: 0, to: 2, text: 'a\n', is_last: false };
  expect(await fleet.orchestrator.files.shipLog(otherRig.id, job, chunk)).toMatchObject({
    ok: false,
    refusal: { code: 'not_your_job' },
  });
  await fleet.clock.settle();
  const [row] = rowsOf(fleet, 'job.report_refused');
  expect(row).toMatchObject({ actor_id: otherRig.id, target_id: job });
  expect(JSON.parse(row?.details ?? '')).toEqual({ status: 'log', code: 'not_your_job' });
});
