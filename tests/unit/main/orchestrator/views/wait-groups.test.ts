// See docs/internals/semantics.md, section 6.
import { expect, test } from 'vitest';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { ada, bob, type Fleet } from '../../../../support/fleet.ts';

const readGroups = (fleet: Fleet, user: string | null = null) => fleet.orchestrator.queue.waiting(user);
const needsH100 = { worker_labels: { gpu: 'h100*' } };

test('groups pending jobs by reason in queue order, with their fitting workers and the time until one is free', async () => {
  const fleet = await openFleet();
  const rigs = [
    await fleet.addIdleWorker({ labels: { gpu: 'h100-80gb' } }),
    await fleet.addIdleWorker({ labels: { gpu: 'h100-80gb' } }),
    await fleet.addIdleWorker({ labels: { gpu: 'rtx4090' } }),
  ];
  for (const rig of rigs) {
    const job = await fleet.runJob(rig, { worker_labels: { gpu: rig === rigs[2] ? 'rtx4090' : 'h100*' } });
    await fleet.clock.advance(10_000);
    await rig.report(job, 'running', { progress: { step: 10, total_steps: 100 } });
  }
  const first = await fleet.submit(needsH100);
  const other = await fleet.submit({ gpu_count: 64 });
  const second = await fleet.submit(needsH100);
  const { groups, ungrouped } = readGroups(fleet);
  expect(groups).toMatchObject([
    {
      jobs: [first.jobId, second.jobId],
      wait: { code: 'busy', workers: [{ code: 'busy', count: 2 }] },
      needs: { labels: { gpu: 'h100*' } },
      workers: 2,
    },
    { jobs: [other.jobId], wait: { code: 'unmet' }, workers: 0, nextFreeMs: null },
  ]);
  expect(groups[0]?.nextFreeMs).toBeGreaterThan(60_000);
  expect(ungrouped).toBe(0);
  expect(groups[0]?.reason).toBe(fleet.job(first.jobId).reason);
});

test("groups the jobs of a user at the limit across requirements, and hides other users' jobs", async () => {
  const fleet = await openFleet();
  await fleet.runJob(await fleet.addIdleWorker());
  await fleet.orchestrator.queue.limit({ user_max_concurrent: 1 }, ada);
  const [first, second] = [await fleet.submit(), await fleet.submit({ gpu_count: 64 })];
  const ofBob = await fleet.submit({}, bob);
  expect(readGroups(fleet).groups).toMatchObject([
    {
      jobs: [first.jobId, second.jobId],
      wait: { code: 'limit', params: { running: 1, max: 1, user: 'ada' } },
      needs: null,
      workers: null,
    },
    { jobs: [ofBob.jobId] },
  ]);
  expect(readGroups(fleet, 'bob')).toMatchObject({ groups: [{ jobs: [ofBob.jobId] }], ungrouped: 0 });
});

test('groups all jobs in back-off although the back-offs end at different times, and omits jobs that need approval', async () => {
  const fleet = await openFleet();
  for (const labels of [{ rig: 'one' }, { rig: 'two' }]) {
    const rig = await fleet.addIdleWorker({ labels });
    const job = await fleet.runJob(rig, { retry_on: ['trainer_exit'], worker_labels: labels });
    await rig.report(job, 'failed');
    await rig.run(job);
    await rig.report(job, 'failed');
    await fleet.clock.advance(5_000);
  }
  await fleet.submit({ requires_approval: true });
  expect(readGroups(fleet)).toMatchObject({
    groups: [{ jobs: { length: 2 }, wait: { code: 'backoff' } }],
    ungrouped: 0,
  });
});

test('counts the jobs beyond the first fifty groups', async () => {
  const fleet = await openFleet();
  for (let n = 1; n <= 52; n += 1) await fleet.submit({ worker_labels: { only: `rig-${n}` } });
  await fleet.submit({ worker_labels: { only: 'rig-1' } });
  const { groups, ungrouped } = readGroups(fleet);
  expect(groups).toHaveLength(50);
  expect(groups[0]?.jobs).toHaveLength(2);
  expect(ungrouped).toBe(2);
});
