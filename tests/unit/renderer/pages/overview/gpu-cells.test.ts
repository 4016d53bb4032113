import { describe, expect, test } from 'vitest';
import type { GpuFigures, WorkerView } from '../../../../../protocol/worker.ts';
import {
  cardWorkers,
  fillLevel,
  gpuCells,
  mappedWorkers,
  movedPlace,
  totalPower,
} from '../../../../../renderer/pages/overview/fleet/gpu-cells.ts';
import { jobId, workerId, workerView } from '../../worker-builders.ts';

const gpu = (index: number, overrides: Partial<GpuFigures> = {}): GpuFigures => ({
  index,
  utilization: 97,
  vram_used_gb: 20,
  temperature_c: 70,
  power_w: 400,
  power_limit_w: 450,
  ...overrides,
});
const busy = { status: 'busy', current_job_id: jobId('j_1') } as const;
const states = (worker: WorkerView, allocated: readonly number[] | null = null) =>
  gpuCells(worker, allocated).map(({ state }) => state);

describe('cells of a worker', () => {
  test('returns the name, memory and figures of each GPU', () => {
    const figures = [gpu(1, { utilization: 3 }), gpu(0)];
    expect(gpuCells(workerView({ gpu_figures: figures }), null)).toEqual([
      {
        index: 0,
        name: 'NVIDIA GeForce RTX 4090',
        totalGb: 24,
        state: 'idle',
        figures: figures[1],
        trouble: null,
      },
      {
        index: 1,
        name: 'NVIDIA GeForce RTX 4090',
        totalGb: 24,
        state: 'idle',
        figures: figures[0],
        trouble: null,
      },
    ]);
  });

  test('marks as busy the GPUs assigned to the job, or all GPUs without an assignment', () => {
    expect(states(workerView(busy))).toEqual(['busy', 'busy']);
    expect(states(workerView(busy), [1])).toEqual(['idle', 'busy']);
    expect(states(workerView())).toEqual(['idle', 'idle']);
  });

  test('returns offline cells without figures and troubles when the worker is offline', () => {
    const worker = workerView({
      status: 'offline',
      gpu_figures: [gpu(0, { temperature_c: 99 })],
      gpu_troubles: [{ gpu: 0, kind: 'missing', detail: 'it is lost' }],
    });
    expect(gpuCells(worker, null)).toMatchObject([
      { state: 'offline', figures: null, trouble: null },
      { state: 'offline', figures: null, trouble: null },
    ]);
  });

  test('shows reported troubles, and marks GPUs above the temperature limit of their manufacturer', () => {
    const troubles = [{ gpu: 0, kind: 'held', detail: 'another process' }] as const;
    const troubleOf = (worker: WorkerView) => gpuCells(worker, null).map(({ trouble }) => trouble);
    const withHotGpu = [gpu(0), gpu(1, { temperature_c: 95 })];
    expect(troubleOf(workerView({ gpu_figures: withHotGpu, gpu_troubles: [...troubles] }))).toEqual([
      'reported',
      'hot',
    ]);
    // AMD GPUs report the temperature of their hottest spot. Up to 105 °C are normal there.
    expect(troubleOf(workerView({ gpu_figures: withHotGpu, accelerator_type: 'rocm' }))).toEqual([
      null,
      null,
    ]);
    const withoutHotGpu = [gpu(0, { temperature_c: null }), gpu(1, { temperature_c: 89 })];
    expect(troubleOf(workerView({ gpu_figures: withoutHotGpu }))).toEqual([null, null]);
  });

  test('numbers the cells from 0 when the agent reports only the number of GPUs', () => {
    const worker = workerView({
      gpu_count: 3,
      gpu_info: { ...workerView().gpu_info, gpus: [] },
    });
    expect(gpuCells(worker, null).map(({ index, name }) => [index, name])).toEqual([
      [0, 'NVIDIA GeForce RTX 4090'],
      [1, 'NVIDIA GeForce RTX 4090'],
      [2, 'NVIDIA GeForce RTX 4090'],
    ]);
  });
});

test.each([
  [0, 1],
  [29, 1],
  [30, 2],
  [60, 3],
  [84, 3],
  [85, 4],
  [100, 4],
  [null, 4],
])('shows the load of %s percent of a busy GPU as fill level %s', (utilization, level) => {
  const [cell] = gpuCells(workerView({ ...busy, gpu_figures: [gpu(0, { utilization })] }), null);
  expect(cell && fillLevel(cell)).toBe(level);
});

test('leaves the square of a GPU without a job empty', () => {
  for (const worker of [workerView({ gpu_figures: [gpu(0)] }), workerView({ status: 'offline' })])
    expect(gpuCells(worker, null).map(fillLevel)).toEqual([0, 0]);
});

const createWorker = (name: string, overrides: Partial<WorkerView> = {}): WorkerView =>
  workerView({ id: workerId(`w_${name}`), name, ...overrides });
const names = (workers: readonly WorkerView[]) => workers.map(({ name }) => name);

test('maps only workers with GPUs, sorted by name with numbers in numerical order', () => {
  const workers = [
    createWorker('rig-10'),
    createWorker('rig-9'),
    createWorker('cpu', { gpu_count: 0 }),
    createWorker('rig-1'),
  ];
  expect(names(mappedWorkers(workers, 'en'))).toEqual(['rig-1', 'rig-9', 'rig-10']);
});

describe('workers with a card', () => {
  const fleet = [
    createWorker('a-idle'),
    createWorker('b-offline', { status: 'offline' }),
    createWorker('c-busy', busy),
    createWorker('d-trouble', { gpu_troubles: [{ gpu: 0, kind: 'missing', detail: 'x' }] }),
    createWorker('e-silent', { status: 'offline', current_job_id: jobId('j_2') }),
    createWorker('f-quarantined', {
      quarantine: { reason: 'x', since: '2026-03-01T12:00:00Z', retry_at: '2026-03-01T13:00:00Z' },
    }),
  ];

  test('returns all workers of a small fleet, in the order of the map', () => {
    expect(cardWorkers(fleet)).toBe(fleet);
  });

  test('returns for a large fleet the workers with problems, then workers with jobs, then idle workers', () => {
    expect(names(cardWorkers(fleet, 4))).toEqual(['c-busy', 'd-trouble', 'e-silent', 'f-quarantined']);
    expect(names(cardWorkers(fleet, 5))).toEqual([
      'a-idle',
      'c-busy',
      'd-trouble',
      'e-silent',
      'f-quarantined',
    ]);
  });
});

test('adds up the power of the GPUs of connected workers, and returns null when no GPU reports its power', () => {
  const workers = [
    createWorker('a', { gpu_figures: [gpu(0), gpu(1, { power_w: null })] }),
    createWorker('b', { gpu_figures: [gpu(0)], status: 'offline' }),
    createWorker('c', { gpu_figures: [gpu(0, { power_w: 50 })] }),
  ];
  expect(totalPower(workers)).toBe(450);
  expect(totalPower([createWorker('d')])).toBeNull();
});

// Pairs of worker index and GPU index in a map of three workers with 2, 1 and 4 GPUs.
test.each([
  ['ArrowRight', [0, 0], [0, 1]],
  ['ArrowRight', [0, 1], [1, 0]],
  ['ArrowRight', [2, 3], [2, 3]],
  ['ArrowLeft', [0, 1], [0, 0]],
  ['ArrowLeft', [1, 0], [0, 1]],
  ['ArrowLeft', [0, 0], [0, 0]],
  ['ArrowDown', [0, 1], [1, 0]],
  ['ArrowDown', [2, 1], [2, 0]],
  ['ArrowUp', [1, 0], [0, 0]],
  ['ArrowUp', [0, 1], [0, 0]],
  ['Home', [2, 3], [0, 0]],
  ['End', [0, 1], [2, 0]],
] as const)(
  'moves the selected GPU with %s from [worker, GPU] %j to %j',
  (key, [worker, gpuIndex], [nextWorker, nextGpu]) => {
    expect(movedPlace({ worker, gpu: gpuIndex }, key, [2, 1, 4])).toEqual({
      worker: nextWorker,
      gpu: nextGpu,
    });
  },
);

test('does not move the selected GPU with keys other than arrows, Home and End', () => {
  expect(movedPlace({ worker: 0, gpu: 0 }, 'Enter', [2])).toBeNull();
});
