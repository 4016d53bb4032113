/** Ephemeral workers that have left, and workers that never connected: docs/internals/semantics.md, sections 0 and 1. */
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import { type Fleet, hashOf } from '../../../../../support/fleet.ts';

const hour = 3_600_000;
const T = 120_000;

const ids = (fleet: Fleet): readonly string[] =>
  fleet.orchestrator.workers.list(undefined).map(({ id }) => id);

describe('an ephemeral worker', () => {
  test('that said goodbye is removed an hour later: row, token and all', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).toBeNull();
    expect(fleet.trail(rig.id).at(-1)).toBe('worker.deleted');
    expect(fleet.audit().at(-1)).toMatchObject({ type: 'worker.deleted', actor_type: 'system' });
    expect(refusalOf(await rig.beat()).code).toBe('token_invalid');
  });

  test('that is removed keeps its name in the jobs that it had', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const { name } = rig.view();
    const id = await fleet.runJob(rig);
    await rig.report(id, 'completed');
    const job = () => {
      const found = fleet.orchestrator.jobs.get(id);
      if (!found.ok) throw new Error(found.refusal.detail);
      return found.value;
    };
    expect(job()).toMatchObject({ worker_name: name, worker_deleted: false });
    await rig.disconnect();
    await fleet.clock.advance(hour);
    expect(ids(fleet)).toEqual([]);
    expect(job()).toMatchObject({
      worker_id: rig.id,
      worker_name: name,
      worker_deleted: true,
      attempts: [{ worker_name: name, worker_deleted: true }],
    });
  });

  test('that fell silent is removed an hour after it was offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await fleet.clock.advance(T + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('that comes back in time stays, and the hour begins anew when it leaves again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    await rig.beat();
    await fleet.clock.advance(T - 1);
    expect(rig.view().status).toBe('connecting');
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('that last registered as a persistent one keeps its row and its token', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral', agent: { persistent: true } });
    await rig.disconnect();
    await fleet.clock.advance(2 * hour);
    expect(ids(fleet)).toEqual([rig.id]);
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).not.toBeNull();
    await fleet.restart();
    await fleet.clock.advance(2 * hour);
    expect(ids(fleet)).toEqual([rig.id]);
  });

  test.each(['goodbye', 'silence', 'restart'] as const)(
    'by its last registration alone is removed an hour after it went offline: %s',
    async how => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ type: 'persistent', agent: { persistent: false } });
      if (how !== 'silence') await rig.disconnect();
      if (how === 'restart') await fleet.restart();
      await fleet.clock.advance((how === 'silence' ? T : 0) + hour - 1);
      expect(ids(fleet)).toEqual([rig.id]);
      await fleet.clock.advance(1);
      expect(ids(fleet)).toEqual([]);
    },
  );

  test('follows the newest of its registrations', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'persistent', agent: { persistent: false } });
    await rig.disconnect();
    await rig.connect({ startId: 'second', persistent: true });
    await rig.disconnect();
    await fleet.clock.advance(2 * hour);
    expect(ids(fleet)).toEqual([rig.id]);
  });

  test('that comes back in the very moment stays', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    // Queued before the decision of the same moment is carried out.
    fleet.clock.after(hour, () => void rig.beat());
    await fleet.clock.advance(hour);
    expect(rig.view().status).toBe('connecting');
  });

  test.each(['a beat', 'a stream', 'a registration'] as const)('may come back by %s', async how => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hour - 1);
    if (how === 'a beat') await rig.beat();
    if (how === 'a stream') await rig.openStream();
    if (how === 'a registration') await rig.register();
    await fleet.clock.advance(100_000);
    expect(ids(fleet)).toEqual([rig.id]);
  });

  test('with a job that may still run is kept, until that has gone elsewhere', async () => {
    const fleet = await openFleet({ heartbeatTimeoutMs: 4 * hour });
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.disconnect();
    await fleet.clock.advance(hour + 1);
    expect(ids(fleet)).toEqual([rig.id]);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.release(job);
    expect(fleet.job(job).status).toBe('pending');
    // Whatever the job does then, its worker is looked at again before long.
    await fleet.clock.advance(60_000);
    expect(ids(fleet)).toEqual([]);
    expect(fleet.job(job).attempts).toMatchObject([{ worker_id: rig.id }]);
  });

  test('is not removed within the hour by a restart, and the hour is not begun anew', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hour / 2);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(hour / 2 - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('whose hour has passed while the orchestrator was away is given the time to come back', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.restart({ awayMs: 10 * hour });
    await fleet.clock.advance(159_999);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('is kept no longer than its hour after a restart, even if the wall clock was set back', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    fleet.clock.shiftWall(-10 * hour);
    await fleet.restart();
    await fleet.clock.advance(hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('that was in contact when the orchestrator went away has its hour from when it is found silent', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    fleet.clock.shiftWall(10 * hour);
    await fleet.restart();
    await fleet.clock.advance(T + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('that never came is removed an hour after it counts as offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(300_000 + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
    await expect(rig.register()).rejects.toThrow('token_invalid');
  });

  test('that never came is removed in its time over a restart, too', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(hour);
    await fleet.restart();
    await fleet.clock.advance(299_999);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('that comes late stays', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(hour);
    await rig.connect();
    for (let s = 0; s < 600; s += 60) {
      await fleet.clock.advance(60_000);
      await rig.beat();
    }
    expect(rig.view().status).toBe('idle');
  });
});

test.each<[string, boolean]>([
  ['came and went', true],
  ['never came', false],
])('a persistent worker that %s is kept for good', async (_what, came) => {
  const fleet = await openFleet();
  const rig = came ? await fleet.addIdleWorker() : await fleet.addWorker();
  if (came) await rig.disconnect();
  await fleet.clock.advance(3 * hour);
  await fleet.restart();
  await fleet.clock.advance(3 * hour);
  expect(rig.view().status).toBe('offline');
});

describe('a worker that never came', () => {
  test.each([0, -hour, hour, -10_000 * hour, 10_000 * hour])(
    'counts as connecting for 300 s, with the wall clock moved by %d ms',
    async ms => {
      const fleet = await openFleet();
      const rig = await fleet.addWorker();
      fleet.clock.shiftWall(ms);
      await fleet.clock.advance(299_999);
      expect(rig.view()).toMatchObject({ status: 'connecting', status_reason: 'never_registered' });
      await fleet.clock.advance(1);
      expect(rig.view()).toMatchObject({ status: 'offline', status_reason: 'never_registered' });
    },
  );

  test('is waited for no longer over a restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await fleet.clock.advance(200_000);
    await fleet.restart();
    await fleet.clock.advance(99_999);
    expect(rig.view().status).toBe('connecting');
    await fleet.clock.advance(1);
    expect(rig.view().status).toBe('offline');
  });
});
