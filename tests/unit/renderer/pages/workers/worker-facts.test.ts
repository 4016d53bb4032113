import { expect, test } from 'vitest';
import {
  contactLevel,
  countStates,
  gpuModel,
  identifyingLabels,
  losesJobOnRotation,
  shownState,
  vramTotal,
  undeletableReason,
} from '../../../../../renderer/pages/workers/facts.ts';
import { jobId, workerId, workerView } from '../../worker-builders.ts';
import { joinPhase } from '../../../../../renderer/pages/workers/join/join-wait.tsx';

const since = '2026-03-01T12:00:00.000Z';
const quarantine = { reason: 'x', since, retry_at: since };

test('counts a quarantined worker as quarantined unless it is busy', () => {
  const workers = [
    workerView({ quarantine }),
    workerView({ quarantine, status: 'busy' }),
    workerView({ status: 'busy' }),
    workerView(),
  ];
  expect(workers.map(shownState)).toEqual(['quarantined', 'busy', 'busy', 'idle']);
  expect(Object.fromEntries(countStates(workers))).toEqual({ quarantined: 1, busy: 2, idle: 1 });
});

test('shows an idle worker with GPU trouble as "trouble", because the worker gets no jobs', () => {
  const status_reason = 'gpu_trouble';
  const workers = [
    workerView({ status_reason }),
    workerView({ status_reason, status: 'busy' }),
    workerView({ status_reason, quarantine }),
  ];
  expect(workers.map(shownState)).toEqual(['trouble', 'busy', 'quarantined']);
});

test.each([
  ['NVIDIA GeForce RTX 4090', 'RTX 4090'],
  ['NVIDIA A100-SXM4-80GB', 'A100-SXM4'],
  ['NVIDIA H100 80GB HBM3', 'H100'],
  ['AMD Radeon RX 7900 XTX', 'Radeon RX 7900 XTX'],
  ['Apple M2 Ultra', 'Apple M2 Ultra'],
])('shortens the GPU name %s to %s', (name, model) => {
  expect(gpuModel(name)).toBe(model);
});

test('adds up the memory of all GPUs, even when they differ', () => {
  expect(vramTotal(workerView())).toBe(48);
  const { gpu_info: info } = workerView();
  const differentGpus = info.gpus.map((gpu, index) => ({ ...gpu, vram_gb: [24, 80][index] ?? 0 }));
  expect(vramTotal(workerView({ gpu_info: { ...info, gpus: differentGpus } }))).toBe(104);
  expect(vramTotal(workerView({ gpu_info: { ...info, gpus: [] } }))).toBe(48);
  expect(vramTotal(workerView({ gpu_info: { ...info, gpus: [] }, gpu_vram_gb: null }))).toBeNull();
  expect(vramTotal(workerView({ gpu_info: { ...info, gpus: [] }, gpu_count: 0 }))).toBeNull();
});

test.each([
  [0, 'good'],
  [45, 'good'],
  [45.1, 'late'],
  [90, 'late'],
  [90.1, 'lost'],
])('rates a contact %d seconds ago as %s, and any contact of an offline worker as good', (age, level) => {
  expect(contactLevel(workerView({ last_contact_age_s: age }))).toBe(level);
  expect(contactLevel(workerView({ last_contact_age_s: age, status: 'offline' }))).toBe('good');
});

test('rates a worker that never had contact as good', () => {
  expect(contactLevel(workerView({ last_contact_age_s: null }))).toBe('good');
});

test('allows deleting a worker without a job that is offline or never joined', () => {
  expect(undeletableReason(workerView())).toBe('online');
  expect(undeletableReason(workerView({ status: 'offline' }))).toBeNull();
  expect(undeletableReason(workerView({ status: 'connecting', registered_at: null }))).toBeNull();
  expect(undeletableReason(workerView({ status: 'offline', current_job_id: jobId('j_one') }))).toBe(
    'has_job',
  );
});

test('reports that a token rotation loses the job only for a connected protocol 1 agent with a job', () => {
  const busy = { current_job_id: jobId('j_one'), status: 'busy' } as const;
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 1 }))).toBe(true);
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 2 }))).toBe(false);
  expect(losesJobOnRotation(workerView({ protocol: 1 }))).toBe(false);
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 1, status: 'offline' }))).toBe(false);
});

test('identifies a worker by its labels only when no other worker has all of these labels', () => {
  const labelled = workerView({ labels: { team: 'nlp', rack: '4' } });
  const partlyLabelled = workerView({ id: workerId('w_two'), labels: { team: 'nlp' } });
  expect(identifyingLabels(labelled, [labelled, partlyLabelled])).toEqual({ team: 'nlp', rack: '4' });
  expect(identifyingLabels(partlyLabelled, [labelled, partlyLabelled])).toBeNull();
  const unlabelled = workerView();
  expect(identifyingLabels(unlabelled, [unlabelled])).toEqual({});
  expect(identifyingLabels(unlabelled, [unlabelled, partlyLabelled])).toBeNull();
});

test('does not identify a worker by a label whose value would act as a pattern', () => {
  const withPattern = workerView({ labels: { team: 'n*', rack: '4' } });
  const withRack = workerView({ id: workerId('w_two'), labels: { rack: '4' } });
  expect(identifyingLabels(withPattern, [withPattern])).toEqual({ rack: '4' });
  expect(identifyingLabels(withPattern, [withPattern, withRack])).toBeNull();
});

test('returns the join phase of a worker: listening, greeted, connected or gone', () => {
  expect(joinPhase(undefined)).toBe('listening');
  expect(joinPhase(workerView({ status: 'connecting', registered_at: null }))).toBe('listening');
  expect(joinPhase(workerView({ status: 'offline', registered_at: null }))).toBe('listening');
  expect(joinPhase(workerView({ status: 'connecting' }))).toBe('greeted');
  expect(joinPhase(workerView())).toBe('connected');
  expect(joinPhase(workerView({ status: 'busy' }))).toBe('connected');
  expect(joinPhase(workerView({ status: 'offline' }))).toBe('gone');
});
