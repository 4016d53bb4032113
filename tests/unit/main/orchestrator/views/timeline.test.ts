import { describe, expect, test } from 'vitest';
import type { Actor } from '../../../../../main/orchestrator/ports/index.ts';
import { openFleet } from '../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../support/fleet-outcome.ts';
import type { Fleet } from '../../../../support/fleet.ts';

type Request = Parameters<Fleet['orchestrator']['queue']['timeline']>[0];

const hourMs = 3_600_000;
const bob: Actor = { type: 'admin', id: 'bob', address: null };

// Reads the timeline of the last and the next 24 hours.
const readTimeline = (fleet: Fleet, filter: Partial<Request> = {}) => {
  const now = fleet.clock.wall();
  const range = { from: now - 24 * hourMs, to: now + 24 * hourMs, user: null, jobId: null, workerId: null };
  return valueOf(fleet.orchestrator.queue.timeline({ ...range, ...filter }));
};

// Runs a job for `ms` milliseconds on a new worker, and then drains the worker.
async function endJob(fleet: Fleet, ms: number): Promise<void> {
  const rig = await fleet.addIdleWorker();
  const id = await fleet.runJob(rig);
  await fleet.clock.advance(ms);
  valueOf(await rig.report(id, 'completed', { exit_code: 0 }));
  await fleet.drain(rig);
}

describe('bars of the timeline', () => {
  test('shows a running attempt with its predicted end, and an ended attempt with its outcome', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ name: 'rig-1' });
    const completed = await fleet.runJob(rig, { config: {}, config_name: 'first' });
    await fleet.clock.advance(60_000);
    valueOf(await rig.report(completed, 'completed', { exit_code: 0 }));
    const running = await fleet.runJob(rig, { config: {}, config_name: 'second', name: 'warm' });
    await rig.beat(running, { job_progress: { step: 1, total_steps: 3, eta_s: 90 } });
    const { bars, jobs, workers, predictions, is_cut } = readTimeline(fleet);
    expect(bars).toMatchObject([
      { job_id: running, attempt: 1, rank: null, ended_at: null, outcome: null },
      { job_id: completed, attempt: 1, worker_id: rig.id, outcome: 'completed', expected_end_at: null },
    ]);
    expect(Date.parse(bars[0]?.expected_end_at ?? '') - fleet.clock.wall()).toBe(90_000);
    expect(jobs).toEqual([
      { id: running, name: 'warm', config_name: 'second', status: 'running', user: 'ada' },
      { id: completed, name: null, config_name: 'first', status: 'completed', user: 'ada' },
    ]);
    expect(workers).toEqual([{ id: rig.id, name: 'rig-1', deleted: false }]);
    expect({ predictions, is_cut }).toEqual({ predictions: [], is_cut: false });
  });

  test('shows the attempts of a job that moved to another worker', async () => {
    const fleet = await openFleet();
    const lostRig = await fleet.addIdleWorker();
    const job = await fleet.runJob(lostRig);
    const otherRig = await fleet.addIdleWorker();
    await lostRig.stream.drop();
    while (fleet.job(job).attempt === 1) {
      await fleet.clock.advance(10_000);
      await otherRig.beat(null);
    }
    expect(readTimeline(fleet, { jobId: job }).bars).toMatchObject([
      { attempt: 2, worker_id: otherRig.id, outcome: null },
      { attempt: 1, worker_id: lostRig.id, outcome: 'given_up' },
    ]);
    const ofLost = readTimeline(fleet, { jobId: job, workerId: lostRig.id }).bars;
    expect(ofLost.map(({ attempt }) => attempt)).toEqual([1]);
  });

  test('shows a bar on each worker of an attempt on several workers', async () => {
    const fleet = await openFleet();
    const rigs = [
      await fleet.addIdleWorker({ agent: { isMultiNode: true } }),
      await fleet.addIdleWorker({ agent: { isMultiNode: true } }),
    ];
    const { jobId } = await fleet.submit({ num_nodes: 2, gpu_count: 1 });
    const [, second] = rigs;
    expect(fleet.job(jobId)).toMatchObject({
      worker_id: rigs[0]?.id,
      other_workers: [{ worker_id: second?.id, worker_name: 'rig-2' }],
    });
    const bars = readTimeline(fleet).bars.map(({ rank, worker_id: id }) => [rank, id]);
    expect(bars).toEqual(rigs.map(({ id }, rank) => [rank, id]));
    const ofSecond = readTimeline(fleet, { workerId: second?.id ?? null }).bars;
    expect(ofSecond).toMatchObject([{ job_id: jobId, rank: 1, worker_id: second?.id }]);
  });

  test('shows only the jobs of one user', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await fleet.runJob(rig);
    const { jobId } = await fleet.submit({}, bob);
    expect(readTimeline(fleet, { user: 'bob' })).toMatchObject({ bars: [], jobs: [], workers: [] });
    expect(readTimeline(fleet, { user: 'bob', jobId }).jobs).toEqual([]);
  });
});

describe('predictions of the timeline', () => {
  // Opens a fleet with a completed job that ran an hour, and a running job that ends in 90 s.
  async function openWithRunningJob() {
    const fleet = await openFleet();
    await endJob(fleet, hourMs);
    const rig = await fleet.addIdleWorker({ name: 'busy' });
    const running = await fleet.runJob(rig);
    await rig.beat(running, { job_progress: { eta_s: 90 } });
    return { fleet, rig };
  }

  test('predicts the start, end and worker of pending jobs in queue order', async () => {
    const { fleet, rig } = await openWithRunningJob();
    const first = await fleet.submit({});
    const second = await fleet.submit({}, bob);
    const { predictions, jobs } = readTimeline(fleet);
    const seconds = (at: string | null | undefined) => (Date.parse(at ?? '') - fleet.clock.wall()) / 1000;
    expect(predictions.map(({ job_id: id, worker_ids: workers }) => [id, workers])).toEqual([
      [first.jobId, [rig.id]],
      [second.jobId, [rig.id]],
    ]);
    expect(predictions.map(({ starts_at: at }) => seconds(at))).toEqual([90, 90 + 3600]);
    expect(predictions.map(({ ends_at: at }) => seconds(at))).toEqual([90 + 3600, 90 + 7200]);
    expect(jobs).toContainEqual({
      id: second.jobId,
      name: null,
      config_name: 'inline',
      status: 'pending',
      user: 'bob',
    });
    expect(readTimeline(fleet, { user: 'bob' }).predictions.map(({ job_id: id }) => id)).toEqual([
      second.jobId,
    ]);
    expect(readTimeline(fleet, { jobId: second.jobId }).predictions).toHaveLength(1);
    expect(readTimeline(fleet, { workerId: rig.id }).predictions).toHaveLength(2);
  });

  test('omits predictions outside the range or on other workers', async () => {
    const { fleet } = await openWithRunningJob();
    await fleet.submit({});
    const otherRig = await fleet.addWorker();
    expect(readTimeline(fleet, { to: fleet.clock.wall() }).predictions).toEqual([]);
    expect(readTimeline(fleet, { from: fleet.clock.wall() + hourMs }).predictions).toEqual([]);
    expect(readTimeline(fleet, { workerId: otherRig.id }).predictions).toEqual([]);
  });

  test('reuses the predictions of a large fleet for ten seconds, except for jobs that are no longer pending', async () => {
    const { fleet } = await openWithRunningJob();
    for (let n = 0; n < 61; n += 1) await fleet.addWorker();
    const ids: string[] = [];
    for (let n = 0; n < 50; n += 1) ids.push((await fleet.submit({}, n === 0 ? bob : undefined)).jobId);
    const [first, second] = readTimeline(fleet).predictions;
    expect([first?.job_id, second?.job_id]).toEqual(ids.slice(0, 2));
    valueOf(await fleet.cancel(first?.job_id as never));
    expect(readTimeline(fleet).predictions[0]).toEqual(second);
    expect(readTimeline(fleet, { user: 'bob' }).predictions).toEqual([]);
    await fleet.clock.advance(10_000);
    const [fresh] = readTimeline(fleet).predictions;
    expect(fresh?.job_id).toBe(second?.job_id);
    expect(Date.parse(fresh?.starts_at ?? '')).toBeLessThan(Date.parse(second?.starts_at ?? ''));
  });

  test('omits pending jobs whose start cannot be predicted', async () => {
    const fleet = await openFleet();
    const { jobId } = await fleet.submit({ gpu_count: 64 });
    expect(readTimeline(fleet)).toMatchObject({ predictions: [], jobs: [] });
    expect(readTimeline(fleet, { jobId }).jobs).toEqual([]);
  });
});
