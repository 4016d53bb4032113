// Tests `local_gpu_max_concurrent` and `local_job_max_concurrent`.
import { describe, expect, it } from 'vitest';
import { ConcurrencyChange } from '../../../../../../protocol/queue.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { createFleetWorker } from '../../../../../support/fleet-worker.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';

/** Connects an idle local worker with `gpus` GPUs. */
async function connectLocalWorker(fleet: Fleet, gpus: number) {
  const { workerId, token } = await fleet.orchestrator.workers.local('workstation');
  const worker = createFleetWorker({
    id: workerId,
    token,
    persistent: true,
    clock: fleet.clock,
    orchestrator: () => fleet.orchestrator,
  });
  await worker.connect({ gpus });
  return worker;
}

async function openLocal(gpus = 4) {
  const fleet = await openFleet({ runsLocally: true });
  return { fleet, worker: await connectLocalWorker(fleet, gpus) };
}

async function limit(fleet: Fleet, limits: ConcurrencyChange) {
  const concurrency = await fleet.orchestrator.queue.limit(limits, ada);
  await fleet.clock.settle();
  return concurrency;
}

const ineligibilityReasons = (fleet: Fleet, id: Parameters<Fleet['job']>[0]) =>
  valueOf(fleet.orchestrator.jobs.explain(id)).workers.flatMap(({ reasons }) => reasons);

describe('GPU limit of the local machine', () => {
  it('keeps a local job that needs more GPUs pending until the limit is removed', async () => {
    const { fleet, worker } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const { jobId, status } = await fleet.submit({ target: 'local', gpu_count: 2 });
    expect(status).toBe('queued');
    expect(fleet.job(jobId).reason).toContain('1 where a job may not use 2 GPUs');
    expect(ineligibilityReasons(fleet, jobId)).toMatchObject([
      { code: 'gpu_limit', wanted: '2', there: '1' },
    ]);
    await limit(fleet, { local_gpu_max_concurrent: null });
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: worker.id });
  });

  it('counts the GPUs that the config names, not their highest index', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const onDevices = (devices: readonly number[]) => ({
      target: 'local' as const,
      config: { accelerate_visible_devices: [...devices] },
    });
    expect((await fleet.submit(onDevices([2, 3]))).status).toBe('queued');
    expect((await fleet.submit(onDevices([3]))).status).toBe('running');
  });

  it('does not apply the local GPU limit to other workers', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const rig = await fleet.addIdleWorker({ agent: { gpus: 4 } });
    expect(await fleet.submit({ gpu_count: 4 })).toMatchObject({ status: 'running', workerId: rig.id });
  });
});

describe('job limit of the local machine', () => {
  it('dispatches no local job at limit 0, and does not stop running jobs', async () => {
    const { fleet, worker } = await openLocal();
    const first = await fleet.submit({ target: 'local' });
    await limit(fleet, { local_job_max_concurrent: 0 });
    expect(fleet.job(first.jobId).status).toBe('dispatched');
    await worker.run(first.jobId);
    valueOf(await worker.report(first.jobId, 'completed'));
    const second = await fleet.submit({ target: 'local' });
    expect(second.status).toBe('queued');
    expect(fleet.job(second.jobId)).toMatchObject({
      reason: expect.stringContaining('1 closed by the limit of local jobs'),
      wait: { code: 'busy', workers: [{ code: 'local_limit', count: 1 }] },
    });
    expect(worker.view()).toMatchObject({ status: 'idle', status_reason: 'local_limit' });
    await limit(fleet, { local_job_max_concurrent: 1 });
    expect(fleet.job(second.jobId)).toMatchObject({ status: 'dispatched', worker_id: worker.id });
  });

  it('dispatches jobs for any machine to other workers when the local limit is 0', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_job_max_concurrent: 0 });
    expect((await fleet.submit({})).status).toBe('queued');
    const rig = await fleet.addIdleWorker();
    await fleet.clock.settle();
    expect(rig.view().status).toBe('busy');
  });

  it('keeps the local limits after a restart and audits their change', async () => {
    const { fleet } = await openLocal();
    expect(fleet.orchestrator.queue.concurrency()).toMatchObject({
      local_gpu_max_concurrent: null,
      local_job_max_concurrent: 1,
    });
    await limit(fleet, { local_job_max_concurrent: 0, local_gpu_max_concurrent: 6 });
    const row = fleet.audit().findLast(({ type }) => type === 'queue.limits_changed');
    expect(JSON.parse(row?.details ?? '')).toMatchObject({
      local_job_max_concurrent: 0,
      local_gpu_max_concurrent: 6,
    });
    await fleet.restart();
    await connectLocalWorker(fleet, 4);
    expect((await fleet.submit({ target: 'local' })).status).toBe('queued');
    expect(fleet.orchestrator.queue.concurrency()).toMatchObject({
      local_gpu_max_concurrent: 6,
      local_job_max_concurrent: 0,
    });
  });
});

describe('localAndWorkers', () => {
  it('returns zeros for the local machine without a local worker', async () => {
    const fleet = await openFleet();
    expect(fleet.orchestrator.queue.localAndWorkers().local).toEqual({
      running_jobs: 0,
      pending_jobs: 0,
      allocated_gpus: [],
      available_gpus: [],
      total_gpus: 0,
      max_concurrent_gpus: null,
      max_concurrent_jobs: 1,
    });
  });

  it('returns the GPUs, jobs and limits of the local machine', async () => {
    const { fleet } = await openLocal();
    await fleet.addIdleWorker();
    await fleet.addWorker();
    expect(fleet.orchestrator.queue.localAndWorkers()).toEqual({
      local: {
        running_jobs: 0,
        pending_jobs: 0,
        allocated_gpus: [],
        available_gpus: [0, 1, 2, 3],
        total_gpus: 4,
        max_concurrent_gpus: null,
        max_concurrent_jobs: 1,
      },
      workers: {
        total_workers: 2,
        idle_workers: 1,
        busy_workers: 0,
        offline_workers: 0,
        draining_workers: 0,
        connecting_workers: 1,
      },
    });
    await fleet.submit({ target: 'local', gpu_count: 2 });
    await fleet.submit({ target: 'local' });
    expect(fleet.orchestrator.queue.localAndWorkers().local).toMatchObject({
      running_jobs: 1,
      pending_jobs: 1,
      allocated_gpus: [0, 1],
      available_gpus: [],
    });
  });
});

describe('gpuAllocation and localGpus', () => {
  it('returns the job that uses each GPU', async () => {
    const { fleet, worker } = await openLocal();
    const { jobId } = await fleet.submit({ target: 'local', gpu_count: 1 });
    expect(fleet.orchestrator.queue.gpuAllocation(false)).toMatchObject({
      allocated_gpus: [0],
      available_gpus: [],
      running_local_jobs: 1,
      devices: [
        { index: 0, allocated: true, job_id: jobId },
        { index: 1, allocated: false, job_id: null },
        { index: 2 },
        { index: 3 },
      ],
    });
    await worker.run(jobId);
    valueOf(await worker.report(jobId, 'completed'));
    expect(fleet.orchestrator.queue.gpuAllocation(true)).toMatchObject({
      allocated_gpus: [],
      available_gpus: [0, 1, 2, 3],
      running_local_jobs: 0,
      workers: [{ worker_id: worker.id, local: true, status: 'idle', job_id: null }],
    });
  });

  it('returns the load of several GPUs only when the agent reports each GPU separately', async () => {
    const { fleet, worker } = await openLocal(1);
    valueOf(await worker.beat(null, { gpu_utilization: 40 }));
    const { gpus, gpu_inventory: inventory } = fleet.orchestrator.queue.localGpus();
    expect(gpus).toMatchObject([{ index: 0, utilization_percent: 40 }]);
    expect(inventory).toMatchObject({ count: 1 });
    const twoGpus = await openLocal(2);
    valueOf(await twoGpus.worker.beat(null, { gpu_utilization: 40, vram_used_gb: 30 }));
    expect(twoGpus.fleet.orchestrator.queue.localGpus().gpus).toMatchObject([
      { index: 0, utilization_percent: null, memory_percent: null },
      { index: 1, utilization_percent: null, memory_percent: null },
    ]);
    valueOf(
      await twoGpus.worker.beat(null, { gpu_figures: [{ index: 1, utilization: 97, vram_used_gb: 6 }] }),
    );
    expect(twoGpus.fleet.orchestrator.queue.localGpus().gpus).toMatchObject([
      { index: 0, utilization_percent: null, memory_percent: null },
      { index: 1, utilization_percent: 97, memory_percent: 7.5 },
    ]);
  });

  it('returns empty GPU lists without a local worker', async () => {
    const fleet = await openFleet();
    expect(fleet.orchestrator.queue.localGpus()).toMatchObject({
      gpus: [],
      gpu_inventory: { backend: null, count: 0 },
    });
    expect(fleet.orchestrator.queue.gpuAllocation(false)).toEqual({
      allocated_gpus: [],
      available_gpus: [],
      running_local_jobs: 0,
      devices: [],
    });
  });
});

describe('changing the limits', () => {
  it("accepts the concurrency body from SimpleTuner's documentation", () => {
    const body = {
      max_concurrent: 10,
      user_max_concurrent: 3,
      team_max_concurrent: 10,
      enable_fair_share: true,
      local_gpu_max_concurrent: 6,
      local_job_max_concurrent: 2,
    };
    expect(ConcurrencyChange.parse(body)).toEqual(body);
  });

  it('keeps limits that a change omits', async () => {
    const fleet = await openFleet();
    expect(ConcurrencyChange.parse({ local_gpu_max_concurrent: 6 })).toEqual({ local_gpu_max_concurrent: 6 });
    await limit(fleet, { local_gpu_max_concurrent: 6, local_job_max_concurrent: 2, max_concurrent: 5 });
    expect(await limit(fleet, { user_max_concurrent: 2 })).toMatchObject({
      max_concurrent: 5,
      user_max_concurrent: 2,
      local_gpu_max_concurrent: 6,
      local_job_max_concurrent: 2,
    });
  });

  it.each([{ local_gpu_max_concurrent: -1 }, { local_job_max_concurrent: '2' }, { local_gpus: 2 }])(
    'refuses a change of the limits to %o',
    body => {
      expect(ConcurrencyChange.safeParse(body).success).toBe(false);
    },
  );
});
