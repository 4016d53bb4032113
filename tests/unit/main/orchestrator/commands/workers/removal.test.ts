// See docs/internals/semantics.md, sections 0 and 1.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import { type Fleet, hashOf } from '../../../../../support/fleet.ts';

const hour = 3_600_000;
const T = 120_000;

const ids = (fleet: Fleet): readonly string[] =>
  fleet.orchestrator.workers.list(undefined).map(({ id }) => id);

describe('removing an ephemeral worker', () => {
  test('removes an ephemeral worker and its token an hour after it disconnected', async () => {
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

  test('keeps the name of a removed worker in its jobs', async () => {
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

  test('removes a silent ephemeral worker an hour after it went offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await fleet.clock.advance(T + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker that returns, and restarts the hour when it leaves', async () => {
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

  test('keeps an ephemeral worker that last registered as persistent', async () => {
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
    'removes a worker that registered as ephemeral an hour after it went offline (%s)',
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

  test('applies the newest registration of a worker', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'persistent', agent: { persistent: false } });
    await rig.disconnect();
    await rig.connect({ startId: 'second', persistent: true });
    await rig.disconnect();
    await fleet.clock.advance(2 * hour);
    expect(ids(fleet)).toEqual([rig.id]);
  });

  test('keeps an ephemeral worker that returns exactly when the hour ends', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    // The heartbeat is queued before the decision that is due at the same time.
    fleet.clock.after(hour, () => void rig.beat());
    await fleet.clock.advance(hour);
    expect(rig.view().status).toBe('connecting');
  });

  test.each(['a beat', 'a stream', 'a registration'] as const)(
    'keeps an ephemeral worker that returns with %s',
    async how => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
      await rig.disconnect();
      await fleet.clock.advance(hour - 1);
      if (how === 'a beat') await rig.beat();
      if (how === 'a stream') await rig.openStream();
      if (how === 'a registration') await rig.register();
      await fleet.clock.advance(100_000);
      expect(ids(fleet)).toEqual([rig.id]);
    },
  );

  test('keeps an ephemeral worker until its recovering job was taken over', async () => {
    const fleet = await openFleet({ heartbeatTimeoutMs: 4 * hour });
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.disconnect();
    await fleet.clock.advance(hour + 1);
    expect(ids(fleet)).toEqual([rig.id]);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.release(job);
    expect(fleet.job(job).status).toBe('pending');
    // The next check of the worker does not depend on the state of the job.
    await fleet.clock.advance(60_000);
    expect(ids(fleet)).toEqual([]);
    expect(fleet.job(job).attempts).toMatchObject([{ worker_id: rig.id }]);
  });

  test('neither shortens nor restarts the hour when the orchestrator restarts', async () => {
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

  test('gives a worker time to return when its hour passed during the downtime', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.restart({ awayMs: 10 * hour });
    await fleet.clock.advance(159_999);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('removes the worker within an hour after a restart although the wall clock was set back', async () => {
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

  test('starts the hour of a connected worker when it is found silent after the restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    fleet.clock.shiftWall(10 * hour);
    await fleet.restart();
    await fleet.clock.advance(T + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('removes an ephemeral worker that never connected an hour after it counts as offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(300_000 + hour - 1);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
    await expect(rig.register()).rejects.toThrow('token_invalid');
  });

  test('removes an ephemeral worker that never connected in time across a restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(hour);
    await fleet.restart();
    await fleet.clock.advance(299_999);
    expect(ids(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(ids(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker that connects late for the first time', async () => {
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
  ['connected and left', true],
  ['never connected', false],
])('keeps a persistent worker that %s', async (_case, connected) => {
  const fleet = await openFleet();
  const rig = connected ? await fleet.addIdleWorker() : await fleet.addWorker();
  if (connected) await rig.disconnect();
  await fleet.clock.advance(3 * hour);
  await fleet.restart();
  await fleet.clock.advance(3 * hour);
  expect(rig.view().status).toBe('offline');
});

describe('a worker that never connected', () => {
  test.each([0, -hour, hour, -10_000 * hour, 10_000 * hour])(
    'shows a new worker as connecting for 300 s when the clock moves by %d ms',
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

  test('does not extend the 300 s for a new worker across a restart', async () => {
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
