// See docs/internals/semantics.md, section 8.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemIds } from '../../../../../main/host/system.ts';
import { createOrchestrator } from '../../../../../main/orchestrator/index.ts';
import { openSqliteStore } from '../../../../../main/store/sqlite-store.ts';
import { NewWorker } from '../../../../../protocol/admin-api.ts';
import type { UiEvent } from '../../../../../protocol/events.ts';
import { openFleet, openFolder } from '../../../../support/fleet-bench.ts';
import { type Fleet, ada } from '../../../../support/fleet.ts';
import { SubmitRequest } from '../../../../../protocol/queue-api.ts';
import { quietDeps } from '../../../../contract/store/builders.ts';

// Causes a few events of several kinds.
async function causeEvents(fleet: Fleet): Promise<void> {
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  const { jobId: next } = await fleet.submit();
  await rig.report(job, 'failed', { exit_code: 1 });
  await rig.disconnect();
  await fleet.cancel(next);
}

function follow(
  fleet: Fleet,
  after: number | null,
): { readonly received: UiEvent[]; readonly stop: () => void } {
  const received: UiEvent[] = [];
  const stop = fleet.orchestrator.lifecycle.follow(after, event => received.push(event));
  return { received, stop };
}
const seqsOf = (events: readonly UiEvent[]): number[] => events.map(({ seq }) => seq);

test('numbers events without gaps across restarts', async () => {
  const fleet = await openFleet();
  await causeEvents(fleet);
  await fleet.restart();
  await causeEvents(fleet);
  await fleet.restart({ crash: true });
  await causeEvents(fleet);
  expect(fleet.events.length).toBeGreaterThan(20);
  expect(seqsOf(fleet.events)).toEqual(fleet.events.map((_event, index) => index + 1));
  expect(fleet.orchestrator.lifecycle.lastSeq()).toBe(fleet.events.length);
});

test('publishes an event after its change is stored and before the call returns', async () => {
  const fleet = await openFleet();
  const received: [string, string | undefined][] = [];
  fleet.orchestrator.lifecycle.follow(null, event => {
    if (event.kind === 'job') received.push([event.type, fleet.store.job(event.job_id)?.status]);
  });
  const rig = await fleet.addIdleWorker();
  const submission = fleet.orchestrator.jobs.submit(SubmitRequest.parse({ config: {} }), ada);
  expect(received).toEqual([]);
  await submission;
  expect(received).toEqual([
    ['job.submitted', 'dispatched'],
    ['job.dispatched', 'dispatched'],
  ]);
  expect(rig.commands).toHaveLength(1);
});

test('publishes no event before its transaction is committed', async () => {
  const fleet = await openFleet();
  const order: string[] = [];
  fleet.orchestrator.lifecycle.follow(null, event => order.push(event.kind));
  void fleet.store.write(tx => tx.afterCommit(() => order.push('committed')));
  const rig = fleet.addWorker();
  const job = fleet.submit();
  await Promise.all([rig, job]);
  expect(order).toEqual(['committed', 'worker', 'job']);
});

test('includes the current state of the changed object in an event', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  expect(fleet.events.at(-1)).toEqual({
    seq: fleet.events.length,
    at: '2026-01-01T12:00:00.000Z',
    kind: 'job',
    type: 'job.running',
    job_id: job,
    worker_id: rig.id,
    attempt: 1,
    cause: null,
    job: expect.objectContaining({ id: job, status: 'running' }),
    worker: expect.objectContaining({ id: rig.id, status: 'busy', current_job_id: job }),
  });
  const { received } = follow(fleet, 0);
  expect(received.find(event => event.kind === 'job' && event.type === 'job.submitted')).toMatchObject({
    job: { status: 'running' },
  });
});

test('includes the worker in job events, except in events that do not change the worker', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const received: (readonly [string, string | undefined])[] = [];
  fleet.orchestrator.lifecycle.follow(null, event => {
    if (event.kind === 'job') received.push([event.type, event.worker?.status]);
  });
  const job = await fleet.runJob(rig);
  await rig.report(job, 'running', { progress: { step: 1, total_steps: 5 } });
  await rig.report(job, 'completed', { exit_code: 0 });
  expect(received).toEqual([
    ['job.submitted', undefined],
    ['job.dispatched', 'busy'],
    ['job.starting', 'busy'],
    ['job.running', 'busy'],
    ['job.progress', undefined],
    ['job.completed', 'idle'],
  ]);
});

test('replays the events after any number without gaps or repeats', async () => {
  const fleet = await openFleet();
  await causeEvents(fleet);
  const total = fleet.events.length;
  const readers = Array.from({ length: total + 1 }, (_none, after) => ({ after, ...follow(fleet, after) }));
  // This reader starts while an event is being committed. The event must arrive exactly once.
  const submission = fleet.submit();
  const during = follow(fleet, total - 1);
  await fleet.cancel((await submission).jobId);
  await causeEvents(fleet);
  const all = seqsOf(fleet.events);
  for (const { after, received } of readers) expect(seqsOf(received)).toEqual(all.slice(after));
  expect(seqsOf(during.received)).toEqual(all.slice(total - 1));
});

test('delivers the same event objects to all readers', async () => {
  const fleet = await openFleet();
  const readers = Array.from({ length: 3 }, () => follow(fleet, null));
  const rig = await fleet.addIdleWorker();
  await fleet.runJob(rig);
  const [first = [], ...others] = readers.map(({ received }) => received);
  expect(new Set(first.map(({ kind }) => kind))).toEqual(new Set(['worker', 'job']));
  for (const received of others) {
    expect(received).toHaveLength(first.length);
    for (const [index, event] of received.entries()) expect(event).toBe(first[index]);
  }
});

test('loads the state for an event once for all readers, and never without readers', async () => {
  const deps = quietDeps();
  const store = openSqliteStore(':memory:', deps);
  onTestFinished(() => store.close());
  let reads = 0;
  const orchestrator = createOrchestrator({
    ...deps,
    store: {
      ...store,
      liveJobOf(id) {
        reads++;
        return store.liveJobOf(id);
      },
    },
    ids: systemIds,
    configs: { load: () => Promise.reject(new Error('no configs')) },
    heartbeatTimeoutMs: 120_000,
  });
  const countReads = async (readers: number): Promise<number> => {
    const ends = Array.from({ length: readers }, () => orchestrator.lifecycle.follow(null, () => undefined));
    const before = reads;
    await orchestrator.workers.create(NewWorker.parse({ name: `rig-${readers}` }), ada);
    for (const end of ends) end();
    return reads - before;
  };
  expect(await countReads(0)).toBe(0);
  const once = await countReads(1);
  expect(once).toBeGreaterThan(0);
  expect(await countReads(20)).toBe(once);
});

test('replays more events than one page holds', async () => {
  const fleet = await openFleet();
  await fleet.store.write(tx => {
    const rig = { kind: 'worker', type: 'worker.back', workerId: 'w_9' as never } as const;
    for (let n = 0; n < 2_500; n++) tx.appendEvent(rig, fleet.clock.wall());
  });
  expect(seqsOf(follow(fleet, 0).received)).toEqual(
    Array.from({ length: 2_500 }, (_none, index) => index + 1),
  );
  expect(follow(fleet, 1_500).received).toHaveLength(1_000);
});

test('starts with the next event for a reader that names no last event', async () => {
  const fleet = await openFleet();
  await causeEvents(fleet);
  const { received } = follow(fleet, null);
  await fleet.submit();
  expect(seqsOf(received)).toEqual([fleet.events.length]);
});

test('delivers nothing after a reader has stopped', async () => {
  const fleet = await openFleet();
  const { received, stop } = follow(fleet, 0);
  await fleet.submit();
  stop();
  await fleet.submit();
  expect(received).toHaveLength(1);
});

test.each([1_000, 1e15, Number.POSITIVE_INFINITY])(
  'sends one reset to a reader whose last event has the future number %d',
  async after => {
    const fleet = await openFleet();
    await causeEvents(fleet);
    const last = fleet.events.length;
    const { received } = follow(fleet, after);
    expect(received).toEqual([{ kind: 'reset', seq: last, at: '2026-01-01T12:00:00.000Z' }]);
    await fleet.submit();
    expect(seqsOf(received)).toEqual([last, last + 1]);
  },
);

test('sends one reset to a reader whose next events were deleted', async () => {
  const storeFile = join(openFolder(), 'trainyard.db');
  const fleet = await openFleet({ storeFile });
  await causeEvents(fleet);
  const last = fleet.events.length;
  const database = new Database(storeFile);
  database.exec('DELETE FROM events WHERE seq <= 5');
  database.close();
  expect(seqsOf(follow(fleet, 5).received)).toEqual(seqsOf(fleet.events).slice(5));
  for (const after of [0, 4]) {
    expect(follow(fleet, after).received).toEqual([{ kind: 'reset', seq: last, at: expect.any(String) }]);
  }
});

test('rolls back only the failing command, and publishes no event of that command', async () => {
  const fleet = await openFleet();
  const effects: string[] = [];
  const event = { kind: 'worker', type: 'worker.back', workerId: 'w_9' as never } as const;
  const before = fleet.orchestrator.lifecycle.lastSeq();
  const first = fleet.submit();
  const broken = fleet.store.write(tx => {
    tx.appendEvent(event, fleet.clock.wall());
    tx.afterCommit(() => effects.push('broken'));
    throw new Error('expected failure');
  });
  const last = fleet.submit();
  await expect(broken).rejects.toThrow('expected failure');
  const [firstJob, lastJob] = await Promise.all([first, last]);
  expect(effects).toEqual([]);
  expect([fleet.trail(firstJob.jobId), fleet.trail(lastJob.jobId)]).toEqual([
    ['job.submitted'],
    ['job.submitted'],
  ]);
  expect(seqsOf(fleet.events).slice(before)).toEqual([before + 1, before + 2]);
});

test('removes a reader that throws and keeps the other readers', async () => {
  const fleet = await openFleet();
  let calls = 0;
  fleet.orchestrator.lifecycle.follow(null, () => {
    calls++;
    throw new Error('expected failure');
  });
  const { received } = follow(fleet, null);
  await fleet.submit();
  await fleet.submit();
  expect(calls).toBe(1);
  expect(received).toHaveLength(2);
  expect(fleet.errors.splice(0)).toEqual([expect.stringContaining('feed.reader_failed')]);
});
