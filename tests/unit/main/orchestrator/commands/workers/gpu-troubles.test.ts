import { describe, expect, test } from 'vitest';
import type { HeartbeatBody } from '../../../../../../protocol/worker-api.ts';
import type { GpuTrouble } from '../../../../../../protocol/worker.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const missing: GpuTrouble = { gpu: 1, kind: 'missing', detail: 'nvidia-smi does not list it any more' };
const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'process 4711 (blender) uses 9 GiB of its memory' };
const holdBackForAll = { missing: true, errors: true, held: true } as const;

const reportTroubles = async (rig: FleetWorker, ...gpu_troubles: readonly GpuTrouble[]): Promise<void> => {
  valueOf(await rig.beat(null, { gpu_troubles }));
};

const gpuEvents = (fleet: Fleet, rig: FleetWorker): readonly string[] =>
  fleet.trail(rig.id).filter(type => type.includes('gpu'));

test('offers no job to a worker with a missing GPU, and explains why, until two heartbeats report no trouble', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ name: 'rig-3' });
  await reportTroubles(rig, missing);
  expect(rig.view()).toMatchObject({
    status: 'idle',
    status_reason: 'gpu_trouble',
    gpu_troubles: [missing],
  });
  const { jobId, workerId, reason } = await fleet.submit();
  expect(workerId).toBeNull();
  expect(reason).toBe(
    'No idle workers: 0 of 1 worker can take this job: 1 with GPU trouble (rig-3: GPU 1 is missing)',
  );
  const explanation = valueOf(fleet.orchestrator.jobs.explain(jobId)).workers[0];
  expect(explanation).toMatchObject({
    fits: false,
    reasons: [
      {
        code: 'gpu_trouble',
        there: 'GPU 1 is missing',
        detail: 'It has GPU trouble: GPU 1: nvidia-smi does not list it any more',
      },
    ],
  });
  await reportTroubles(rig);
  expect(rig.commandsOf('job_submit')).toEqual([]);
  await reportTroubles(rig);
  expect(rig.lastOffer().job_id).toBe(jobId);
  expect(rig.view().gpu_troubles).toEqual([]);
});

test('dispatches a job to another worker while one worker has a GPU problem', async () => {
  const fleet = await openFleet();
  const faultyRig = await fleet.addIdleWorker();
  const soundRig = await fleet.addIdleWorker();
  await reportTroubles(faultyRig, missing);
  const { jobId } = await fleet.submit();
  expect(soundRig.lastOffer().job_id).toBe(jobId);
  expect(faultyRig.commands).toEqual([]);
});

test('keeps a running job on a worker that reports a GPU problem', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  valueOf(await rig.beat(job, { gpu_troubles: [missing] }));
  expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: job, gpu_troubles: [missing] });
  expect(rig.commandsOf('job_cancel')).toEqual([]);
  await rig.report(job, 'completed');
  expect(valueOf(fleet.orchestrator.jobs.get(job)).status).toBe('completed');
});

describe('recording GPU problems', () => {
  test('records a GPU problem once when it starts and once when it ends', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await reportTroubles(rig, missing);
    const before = fleet.writes;
    for (let n = 0; n < 5; n += 1) await reportTroubles(rig, missing);
    expect(fleet.writes).toBe(before);
    expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble']);
    await reportTroubles(rig, missing, held);
    for (let n = 0; n < 5; n += 1) await reportTroubles(rig);
    expect(gpuEvents(fleet, rig)).toEqual([
      'worker.gpu_trouble',
      'worker.gpu_trouble',
      'worker.gpu_trouble_over',
    ]);
    const rows = fleet.audit().filter(({ type }) => type.startsWith('worker.gpu'));
    expect(rows.map(({ actor_type, details }) => [actor_type, JSON.parse(details) as unknown])).toEqual([
      ['worker', { troubles: [missing] }],
      ['worker', { troubles: [held] }],
      ['worker', { troubles: [held, missing] }],
    ]);
  });

  test('records a GPU problem once when only every second heartbeat reports it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let n = 0; n < 20; n += 1) await reportTroubles(rig, ...(n % 2 === 0 ? [missing] : []));
    expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });

  test('updates the details of a GPU problem without a new event', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await reportTroubles(rig, held);
    const sameKind = { ...held, detail: 'process 4712 (blender)' };
    await reportTroubles(rig, sameKind);
    expect(rig.view().gpu_troubles).toEqual([sameKind]);
    expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });
});

test('answers heartbeats while the disk is full, and records GPU problems afterwards', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.setDiskFull(true);
  await fleet.submit().catch(() => {});
  for (let n = 0; n < 3; n += 1) await reportTroubles(rig, missing);
  await fleet.setDiskFull(false);
  await reportTroubles(rig, missing);
  expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble']);
});

describe('GPU problems in a registration', () => {
  test('dispatches nothing to a worker that registers with a GPU problem', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await fleet.submit();
    await rig.connect({ gpuTroubles: [missing] });
    expect(rig.commands).toEqual([]);
    expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });

  test('keeps a known GPU problem when a restarted agent registers without GPU problems', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await reportTroubles(rig, held);
    await rig.connect({ startId: 'another', gpuTroubles: [] });
    await fleet.submit();
    expect(rig.view().gpu_troubles).toEqual([held]);
    expect(rig.commandsOf('job_submit')).toEqual([]);
    await reportTroubles(rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
  });

  test('ends a GPU problem when an older agent registers that cannot report GPU problems', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { gpuTroubles: [missing] } });
    expect(rig.view().gpu_troubles).toEqual([missing]);
    await rig.connect({ startId: 'older', gpuTroubles: undefined });
    expect(rig.view().gpu_troubles).toEqual([]);
    expect(gpuEvents(fleet, rig)).toEqual(['worker.gpu_trouble', 'worker.gpu_trouble_over']);
  });
});

test('dispatches nothing to a worker with a known GPU problem after a restart', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await reportTroubles(rig, missing);
  await fleet.submit();
  await fleet.restart();
  await rig.openStream();
  expect(rig.view()).toMatchObject({ gpu_troubles: [missing] });
  expect(rig.commandsOf('job_submit')).toEqual([]);
});

describe('GpuTroublePolicy', () => {
  test('dispatches a job immediately when the policy is switched off for the kind of GPU problem', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await reportTroubles(rig, held);
    await fleet.submit();
    expect(rig.commandsOf('job_submit')).toEqual([]);
    fleet.orchestrator.lifecycle.holdBackFor({ ...holdBackForAll, held: false });
    await fleet.clock.settle();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
    expect(rig.view().gpu_troubles).toEqual([held]);
  });

  test('keeps jobs pending when the policy is switched on again', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    fleet.orchestrator.lifecycle.holdBackFor({ missing: false, errors: false, held: false });
    await reportTroubles(rig, held, missing);
    expect(rig.view().status_reason).toBeNull();
    fleet.orchestrator.lifecycle.holdBackFor(holdBackForAll);
    await fleet.clock.settle();
    await fleet.submit();
    expect(rig.commandsOf('job_submit')).toEqual([]);
    expect(rig.view().status_reason).toBe('gpu_trouble');
  });
});

test('dispatches nothing to a worker with a GPU problem when its quarantine ends', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  for (let n = 0; n < 3; n++) {
    const job = await fleet.runJob(rig);
    await rig.report(job, 'failed', { cause: 'start_failed', error: 'no python' });
  }
  await reportTroubles(rig, missing);
  await fleet.submit();
  for (let minute = 0; minute < 11; minute += 1) {
    await fleet.clock.advance(60_000);
    await reportTroubles(rig, missing);
  }
  expect(rig.commandsOf('job_submit')).toHaveLength(3);
  await reportTroubles(rig);
  await reportTroubles(rig);
  expect(rig.commandsOf('job_submit')).toHaveLength(4);
});

test('counts workers with GPU problems by kind in the queue figures', async () => {
  const fleet = await openFleet();
  const [first, second] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  await reportTroubles(first, missing, held);
  await reportTroubles(second, missing);
  expect(fleet.orchestrator.queue.figures().gpuTroubles).toEqual({ missing: 2, errors: 0, held: 1 });
});

test.each<[string, unknown, readonly GpuTrouble[]]>([
  ['a value that is not a list', 'broken', []],
  [
    'invalid entries',
    [null, 7, { gpu: -1, kind: 'held', detail: '' }, { gpu: 0, kind: 'tired', detail: '' }],
    [],
  ],
  ['a valid entry among invalid entries', [{ gpu: '0', kind: 'held' }, missing], [missing]],
  [
    'a detail that is too long and has control characters',
    [{ ...missing, detail: `a\nb\u202e${'x'.repeat(500)}` }],
    [{ ...missing, detail: `a b ${'x'.repeat(196)}` }],
  ],
  [
    'too many entries',
    Array.from({ length: 500 }, (_, gpu) => ({ ...missing, gpu })),
    Array.from({ length: 32 }, (_, gpu) => ({ ...missing, gpu })),
  ],
])('accepts a heartbeat whose GPU problems have %s', async (_case, gpu_troubles, accepted) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const body: Partial<HeartbeatBody> = { gpu_troubles };
  expect(await rig.beat(null, body)).toMatchObject({ ok: true });
  expect(rig.view().gpu_troubles).toEqual(accepted);
});
