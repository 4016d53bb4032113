import { expect, test } from 'vitest';
import { workerColumns, workerFacts, workerStatus } from '../../../../../main/cli/workers/worker.ts';
import { workerView } from '../../../renderer/worker-builders.ts';

const workerWithTrouble = workerView({
  status_reason: 'gpu_trouble',
  gpu_troubles: [
    { gpu: 0, kind: 'held', detail: 'process 7 (blender) holds its memory' },
    { gpu: 1, kind: 'errors', detail: '3 memory errors' },
  ],
});

test('shows GPU problems next to the GPUs in the list of workers', () => {
  const gpus = workerColumns.find(({ title }) => title === 'GPUS');
  expect(gpus?.text(workerWithTrouble, false)).toBe(
    '2 x NVIDIA GeForce RTX 4090 24 GB, GPU 0: held, GPU 1: memory errors',
  );
  expect(gpus?.text(workerView(), false)).toBe('2 x NVIDIA GeForce RTX 4090 24 GB');
  expect(gpus?.text(workerView({ gpu_count: 0 }), false)).toBe('-');
  expect(workerStatus(workerWithTrouble)).toBe('idle (gpu trouble)');
});

test('shows the details of each GPU problem of a worker', () => {
  const facts = new Map(workerFacts(workerWithTrouble));
  expect(facts.get('GPU trouble')).toBe(
    'GPU 0: held: process 7 (blender) holds its memory\nGPU 1: memory errors: 3 memory errors',
  );
  expect(new Map(workerFacts(workerView())).get('GPU trouble')).toBeNull();
});
