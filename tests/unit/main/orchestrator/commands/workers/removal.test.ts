// See docs/internals/semantics.md, sections 0 and 1.
import { describe, expect, test } from 'vitest';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../../support/fleet-outcome.ts';
import { type Fleet, hashOf } from '../../../../../support/fleet.ts';

const hourMs = 3_600_000;
const heartbeatTimeoutMs = 120_000;

const workerIds = (fleet: Fleet): readonly string[] =>
  fleet.orchestrator.workers.list(undefined).map(({ id }) => id);

describe('removing an ephemeral worker', () => {
  test('removes an ephemeral worker and its token an hour after it disconnected', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
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
    expect(fleet.job(id)).toMatchObject({ worker_name: name, worker_deleted: false });
    await rig.disconnect();
    await fleet.clock.advance(hourMs);
    expect(workerIds(fleet)).toEqual([]);
    expect(fleet.job(id)).toMatchObject({
      worker_id: rig.id,
      worker_name: name,
      worker_deleted: true,
      attempts: [{ worker_name: name, worker_deleted: true }],
    });
  });

  test('removes a silent ephemeral worker an hour after it went offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await fleet.clock.advance(heartbeatTimeoutMs + hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker that returns, and restarts the hour when the worker leaves again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hourMs - 1);
    await rig.beat();
    await fleet.clock.advance(heartbeatTimeoutMs - 1);
    expect(rig.view().status).toBe('connecting');
    await rig.disconnect();
    await fleet.clock.advance(hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker that last registered as persistent', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral', agent: { persistent: true } });
    await rig.disconnect();
    await fleet.clock.advance(2 * hourMs);
    expect(workerIds(fleet)).toEqual([rig.id]);
    expect(fleet.orchestrator.workers.byTokenHash(hashOf(rig.token))).not.toBeNull();
    await fleet.restart();
    await fleet.clock.advance(2 * hourMs);
    expect(workerIds(fleet)).toEqual([rig.id]);
  });

  test.each(['goodbye', 'silence', 'restart'] as const)(
    'removes a worker with an ephemeral agent an hour after the worker went offline (%s)',
    async reason => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ type: 'persistent', agent: { persistent: false } });
      if (reason !== 'silence') await rig.disconnect();
      if (reason === 'restart') await fleet.restart();
      await fleet.clock.advance((reason === 'silence' ? heartbeatTimeoutMs : 0) + hourMs - 1);
      expect(workerIds(fleet)).toEqual([rig.id]);
      await fleet.clock.advance(1);
      expect(workerIds(fleet)).toEqual([]);
    },
  );

  test('keeps a worker whose newest registration is persistent', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'persistent', agent: { persistent: false } });
    await rig.disconnect();
    await rig.connect({ startId: 'second', persistent: true });
    await rig.disconnect();
    await fleet.clock.advance(2 * hourMs);
    expect(workerIds(fleet)).toEqual([rig.id]);
  });

  test('keeps an ephemeral worker that returns exactly when the hour ends', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    // The heartbeat is queued before the removal, although both are due at the same time.
    fleet.clock.after(hourMs, () => void rig.beat());
    await fleet.clock.advance(hourMs);
    expect(rig.view().status).toBe('connecting');
  });

  test.each(['a heartbeat', 'a stream', 'a registration'] as const)(
    'keeps an ephemeral worker that returns with %s',
    async contact => {
      const fleet = await openFleet();
      const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
      await rig.disconnect();
      await fleet.clock.advance(hourMs - 1);
      if (contact === 'a heartbeat') await rig.beat();
      if (contact === 'a stream') await rig.openStream();
      if (contact === 'a registration') await rig.register();
      await fleet.clock.advance(100_000);
      expect(workerIds(fleet)).toEqual([rig.id]);
    },
  );

  test('keeps an ephemeral worker while it has a recovering job', async () => {
    const fleet = await openFleet({ heartbeatTimeoutMs: 4 * hourMs });
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    const job = await fleet.runJob(rig, { max_retries: 0 });
    await rig.disconnect();
    await fleet.clock.advance(hourMs + 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    expect(fleet.job(job).status).toBe('recovering');
    await fleet.release(job);
    expect(fleet.job(job).status).toBe('pending');
    // The next check of the worker does not depend on the state of the job.
    await fleet.clock.advance(60_000);
    expect(workerIds(fleet)).toEqual([]);
    expect(fleet.job(job).attempts).toMatchObject([{ worker_id: rig.id }]);
  });

  test('counts the hour before the removal across a restart of the orchestrator', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.clock.advance(hourMs / 2);
    await fleet.restart({ crash: true });
    await fleet.clock.advance(hourMs / 2 - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker for 160 s after a restart when its hour passed during the downtime', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    await fleet.restart({ awayMs: 10 * hourMs });
    await fleet.clock.advance(159_999);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('removes an ephemeral worker an hour after a restart although the wall clock was set back', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    await rig.disconnect();
    fleet.clock.shiftWall(-10 * hourMs);
    await fleet.restart();
    await fleet.clock.advance(hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('counts the hour from the end of the heartbeat timeout when a worker does not return after a restart', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ type: 'ephemeral' });
    fleet.clock.shiftWall(10 * hourMs);
    await fleet.restart();
    await fleet.clock.advance(heartbeatTimeoutMs + hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('removes an ephemeral worker that never connected an hour after its status became offline', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(300_000 + hourMs - 1);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
    await expect(rig.register()).rejects.toThrow('token_invalid');
  });

  test('counts the time before a restart towards the removal of an ephemeral worker that never connected', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(hourMs);
    await fleet.restart();
    await fleet.clock.advance(299_999);
    expect(workerIds(fleet)).toEqual([rig.id]);
    await fleet.clock.advance(1);
    expect(workerIds(fleet)).toEqual([]);
  });

  test('keeps an ephemeral worker that connects late for the first time', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker({ type: 'ephemeral' });
    await fleet.clock.advance(hourMs);
    await rig.connect();
    for (let minute = 0; minute < 10; minute++) {
      await fleet.clock.advance(60_000);
      await rig.beat();
    }
    expect(rig.view().status).toBe('idle');
  });
});

test.each<[string, boolean]>([
  ['connected and left', true],
  ['never connected', false],
])('keeps a persistent worker that %s', async (_case, hasConnected) => {
  const fleet = await openFleet();
  const rig = hasConnected ? await fleet.addIdleWorker() : await fleet.addWorker();
  if (hasConnected) await rig.disconnect();
  await fleet.clock.advance(3 * hourMs);
  await fleet.restart();
  await fleet.clock.advance(3 * hourMs);
  expect(rig.view().status).toBe('offline');
});

describe('a worker that never connected', () => {
  test.each([0, -hourMs, hourMs, -10_000 * hourMs, 10_000 * hourMs])(
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
