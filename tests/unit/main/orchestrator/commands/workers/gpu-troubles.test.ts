/** Workers whose GPUs are missing, faulty, or used by another process: their reports keep new jobs away from them. */
import { describe, expect, test } from 'vitest';
import type { HeartbeatBody } from '../../../../../../protocol/worker-api.ts';
import type { GpuTrouble } from '../../../../../../protocol/worker.ts';
import { openFleet } from '../../../../../support/fleet-bench.ts';
import { valueOf } from '../../../../../support/fleet-outcome.ts';
import type { Fleet } from '../../../../../support/fleet.ts';
import type { FleetWorker } from '../../../../../support/fleet-worker.ts';

const lost: GpuTrouble = { gpu: 1, kind: 'missing', detail: 'nvidia-smi does not list it any more' };
const held: GpuTrouble = { gpu: 0, kind: 'held', detail: 'process 4711 (blender) uses 9 GiB of its memory' };
const all = { missing: true, errors: true, held: true } as const;

const says = async (rig: FleetWorker, ...gpu_troubles: readonly GpuTrouble[]): Promise<void> => {
  valueOf(await rig.beat(null, { gpu_troubles }));
};

const told = (fleet: Fleet, rig: FleetWorker): readonly string[] =>
  fleet.trail(rig.id).filter(type => type.includes('gpu'));

test('a worker with a GPU that is gone gets no job; one that waits for it is told why, and gets it when all is well', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker({ name: 'rig-3' });
  await says(rig, lost);
  expect(rig.view()).toMatchObject({
    status: 'idle',
    status_reason: 'gpu_trouble',
    gpu_troubles: [lost],
  });
  const { jobId, workerId, reason } = await fleet.submit();
  expect(workerId).toBeNull();
  expect(reason).toBe(
    'No idle workers: 0 of 1 worker can take this job: 1 with GPU trouble (rig-3: GPU 1 is missing)',
  );
  const explained = valueOf(fleet.orchestrator.jobs.explain(jobId)).workers[0];
  expect(explained).toMatchObject({
    fits: false,
    reasons: [
      {
        code: 'gpu_trouble',
        there: 'GPU 1 is missing',
        detail: 'It has GPU trouble: GPU 1: nvidia-smi does not list it any more',
      },
    ],
  });
  await says(rig);
  expect(rig.commandsOf('job_submit')).toEqual([]);
  await says(rig);
  expect(rig.lastOffer().job_id).toBe(jobId);
  expect(rig.view().gpu_troubles).toEqual([]);
});

test('another worker takes the job meanwhile', async () => {
  const fleet = await openFleet();
  const bad = await fleet.addIdleWorker();
  const good = await fleet.addIdleWorker();
  await says(bad, lost);
  const { jobId } = await fleet.submit();
  expect(good.lastOffer().job_id).toBe(jobId);
  expect(bad.commands).toEqual([]);
});

test('a job that runs there is left alone', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const job = await fleet.runJob(rig);
  valueOf(await rig.beat(job, { gpu_troubles: [lost] }));
  expect(rig.view()).toMatchObject({ status: 'busy', current_job_id: job, gpu_troubles: [lost] });
  expect(rig.commandsOf('job_cancel')).toEqual([]);
  await rig.report(job, 'completed');
  expect(valueOf(fleet.orchestrator.jobs.get(job)).status).toBe('completed');
});

describe('it is told of', () => {
  test('once when it comes and once when it is over, in the trail and to who looks on, and not with every beat', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    const writes = (): number => fleet.writes;
    await says(rig, lost);
    const before = writes();
    for (let beat = 0; beat < 5; beat += 1) await says(rig, lost);
    expect(writes()).toBe(before);
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble']);
    await says(rig, lost, held);
    for (let beat = 0; beat < 5; beat += 1) await says(rig);
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble', 'worker.gpu_trouble', 'worker.gpu_trouble_over']);
    const rows = fleet.audit().filter(({ type }) => type.startsWith('worker.gpu'));
    expect(rows.map(({ actor_type, details }) => [actor_type, JSON.parse(details) as unknown])).toEqual([
      ['worker', { troubles: [lost] }],
      ['worker', { troubles: [held] }],
      ['worker', { troubles: [held, lost] }],
    ]);
  });

  test('once, however often it comes and goes from one beat to the next', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    for (let beat = 0; beat < 20; beat += 1) await says(rig, ...(beat % 2 === 0 ? [lost] : []));
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });

  test('in other words without a word: which process it is may change', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await says(rig, held);
    const other = { ...held, detail: 'process 4712 (blender)' };
    await says(rig, other);
    expect(rig.view().gpu_troubles).toEqual([other]);
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });
});

test('a disk that takes no changes keeps no beat from being answered; what it said is told when there is room', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await fleet.setDiskFull(true);
  await fleet.submit().catch(() => {});
  for (let beat = 0; beat < 3; beat += 1) await says(rig, lost);
  await fleet.setDiskFull(false);
  await says(rig, lost);
  expect(told(fleet, rig)).toEqual(['worker.gpu_trouble']);
});

describe('an introduction', () => {
  test('carries it, so that nothing is given out between it and the first beat', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addWorker();
    await fleet.submit();
    await rig.connect({ gpuTroubles: [lost] });
    expect(rig.commands).toEqual([]);
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble']);
  });

  test('that does not name what is known is a first word: an agent that has just started has looked once', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await says(rig, held);
    await rig.connect({ startId: 'another', gpuTroubles: [] });
    await fleet.submit();
    expect(rig.view().gpu_troubles).toEqual([held]);
    expect(rig.commandsOf('job_submit')).toEqual([]);
    await says(rig);
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
  });

  test('of an older agent, which will never say that it is over, ends it', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker({ agent: { gpuTroubles: [lost] } });
    expect(rig.view().gpu_troubles).toEqual([lost]);
    await rig.connect({ startId: 'older', gpuTroubles: undefined });
    expect(rig.view().gpu_troubles).toEqual([]);
    expect(told(fleet, rig)).toEqual(['worker.gpu_trouble', 'worker.gpu_trouble_over']);
  });
});

test('a restart of the orchestrator gives nothing to a worker that was known to be broken', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  await says(rig, lost);
  await fleet.submit();
  await fleet.restart();
  await rig.openStream();
  expect(rig.view()).toMatchObject({ gpu_troubles: [lost] });
  expect(rig.commandsOf('job_submit')).toEqual([]);
});

describe('as it is set', () => {
  test('a kind that is switched off keeps no job away, at once and for who waits already', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    await says(rig, held);
    await fleet.submit();
    expect(rig.commandsOf('job_submit')).toEqual([]);
    fleet.orchestrator.lifecycle.holdBackFor({ ...all, held: false });
    await fleet.clock.settle();
    expect(rig.commandsOf('job_submit')).toHaveLength(1);
    expect(rig.view().gpu_troubles).toEqual([held]);
  });

  test('one that is switched on again does', async () => {
    const fleet = await openFleet();
    const rig = await fleet.addIdleWorker();
    fleet.orchestrator.lifecycle.holdBackFor({ missing: false, errors: false, held: false });
    await says(rig, held, lost);
    expect(rig.view().status_reason).toBeNull();
    fleet.orchestrator.lifecycle.holdBackFor(all);
    await fleet.clock.settle();
    await fleet.submit();
    expect(rig.commandsOf('job_submit')).toEqual([]);
    expect(rig.view().status_reason).toBe('gpu_trouble');
  });
});

test('a quarantine that is over does not bring it a job either', async () => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  for (let n = 0; n < 3; n++) {
    const job = await fleet.runJob(rig);
    await rig.report(job, 'failed', { cause: 'start_failed', error: 'no python' });
  }
  await says(rig, lost);
  await fleet.submit();
  for (let minute = 0; minute < 11; minute += 1) {
    await fleet.clock.advance(60_000);
    await says(rig, lost);
  }
  expect(rig.commandsOf('job_submit')).toHaveLength(3);
  await says(rig);
  await says(rig);
  expect(rig.commandsOf('job_submit')).toHaveLength(4);
});

test('the fleet in figures counts them by kind', async () => {
  const fleet = await openFleet();
  const [one, other] = [await fleet.addIdleWorker(), await fleet.addIdleWorker()];
  await says(one, lost, held);
  await says(other, lost);
  expect(fleet.orchestrator.queue.figures().gpuTroubles).toEqual({ missing: 2, errors: 0, held: 1 });
});

test.each<[string, unknown, readonly GpuTrouble[]]>([
  ['no list', 'broken', []],
  [
    'entries that are none',
    [null, 7, { gpu: -1, kind: 'held', detail: '' }, { gpu: 0, kind: 'tired', detail: '' }],
    [],
  ],
  ['a good one among bad ones', [{ gpu: '0', kind: 'held' }, lost], [lost]],
  [
    'a detail with control characters that is far too long',
    [{ ...lost, detail: `a\nb\u202e${'x'.repeat(500)}` }],
    [{ ...lost, detail: `a b ${'x'.repeat(196)}` }],
  ],
  [
    'more than any worker has',
    Array.from({ length: 500 }, (_, gpu) => ({ ...lost, gpu })),
    Array.from({ length: 32 }, (_, gpu) => ({ ...lost, gpu })),
  ],
])('a beat does not fail over %s', async (_what, gpu_troubles, known) => {
  const fleet = await openFleet();
  const rig = await fleet.addIdleWorker();
  const more: Partial<HeartbeatBody> = { gpu_troubles };
  expect(await rig.beat(null, more)).toMatchObject({ ok: true });
  expect(rig.view().gpu_troubles).toEqual(known);
});
