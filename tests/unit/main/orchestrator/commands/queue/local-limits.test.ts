/** Limits of the orchestrator's own machine: `local_gpu_max_concurrent` and `local_job_max_concurrent`. */
import { describe, expect, it } from 'vitest';
import { ConcurrencyChange } from '../../../../../../protocol/queue.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import { createFleetWorker } from '../../../../../support/fleet-worker.ts';
import { ada, type Fleet } from '../../../../../support/fleet.ts';

/** The orchestrator's own machine, idle, with this many GPUs. */
async function connectHere(fleet: Fleet, gpus: number) {
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
  return { fleet, worker: await connectHere(fleet, gpus) };
}

async function limit(fleet: Fleet, limits: ConcurrencyChange) {
  const answer = await fleet.orchestrator.queue.limit(limits, ada);
  await fleet.clock.settle();
  return answer;
}

const checksOf = (fleet: Fleet, id: Parameters<Fleet['job']>[0]) =>
  valueOf(fleet.orchestrator.jobs.explain(id)).workers.flatMap(({ reasons }) => reasons);

describe('the GPU limit of the local machine', () => {
  it('keeps a job that uses more GPUs off it until the limit is lifted', async () => {
    const { fleet, worker } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const { jobId, status } = await fleet.submit({ target: 'local', gpu_count: 2 });
    expect(status).toBe('queued');
    expect(fleet.job(jobId).reason).toContain('1 where a job may not use 2 GPUs');
    expect(checksOf(fleet, jobId)).toMatchObject([{ code: 'gpu_limit', wanted: '2', there: '1' }]);
    await limit(fleet, { local_gpu_max_concurrent: null });
    expect(fleet.job(jobId)).toMatchObject({ status: 'dispatched', worker_id: worker.id });
  });

  it('counts the GPUs that the config names, not their highest number', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const named = (devices: readonly number[]) => ({
      target: 'local' as const,
      config: { accelerate_visible_devices: [...devices] },
    });
    expect((await fleet.submit(named([2, 3]))).status).toBe('queued');
    expect((await fleet.submit(named([3]))).status).toBe('running');
  });

  it('does not bind other workers', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_gpu_max_concurrent: 1 });
    const rig = await fleet.addIdleWorker({ agent: { gpus: 4 } });
    expect(await fleet.submit({ gpu_count: 4 })).toMatchObject({ status: 'running', workerId: rig.id });
  });
});

describe('the job limit of the local machine', () => {
  it('keeps all jobs off it at 0, lets running jobs continue, and shows why', async () => {
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

  it('sends jobs for any machine to other workers', async () => {
    const { fleet } = await openLocal();
    await limit(fleet, { local_job_max_concurrent: 0 });
    expect((await fleet.submit({})).status).toBe('queued');
    const rig = await fleet.addIdleWorker();
    await fleet.clock.settle();
    expect(rig.view().status).toBe('busy');
  });

  it('survives a restart and is recorded in the audit trail', async () => {
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
    await connectHere(fleet, 4);
    expect((await fleet.submit({ target: 'local' })).status).toBe('queued');
    expect(fleet.orchestrator.queue.concurrency()).toMatchObject({
      local_gpu_max_concurrent: 6,
      local_job_max_concurrent: 0,
    });
  });
});

describe('figures of the local machine and of the workers', () => {
  it('are 0 without a local worker', async () => {
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

  it('show its GPUs, its jobs and its limits', async () => {
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

describe('GPU allocation of the local machine', () => {
  it('names the job that holds each GPU', async () => {
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

  it('gives one figure of load where the machine has one GPU', async () => {
    const { fleet, worker } = await openLocal(1);
    valueOf(await worker.beat(null, { gpu_utilization: 40 }));
    const { gpus, gpu_inventory: inventory } = fleet.orchestrator.queue.localGpus();
    expect(gpus).toMatchObject([{ index: 0, utilization_percent: 40 }]);
    expect(inventory).toMatchObject({ count: 1 });
    await openLocal(2).then(two => {
      expect(two.fleet.orchestrator.queue.localGpus().gpus).toMatchObject([
        { index: 0, utilization_percent: null },
        { index: 1, utilization_percent: null },
      ]);
    });
  });

  it('is empty without a local worker', async () => {
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

describe('a change of the limits', () => {
  it("takes SimpleTuner's documented body", () => {
    const documented = {
      max_concurrent: 10,
      user_max_concurrent: 3,
      team_max_concurrent: 10,
      enable_fair_share: true,
      local_gpu_max_concurrent: 6,
      local_job_max_concurrent: 2,
    };
    expect(ConcurrencyChange.parse(documented)).toEqual(documented);
  });

  it('leaves omitted limits as they are', async () => {
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
    'is refused with %o',
    body => {
      expect(ConcurrencyChange.safeParse(body).success).toBe(false);
    },
  );
});
