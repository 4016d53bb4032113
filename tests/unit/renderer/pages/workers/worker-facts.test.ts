import { expect, test } from 'vitest';
import {
  contactLevel,
  countStates,
  gpuModel,
  labelsThatBind,
  losesJobOnRotation,
  shownState,
  vramTotal,
  whyKept,
} from '../../../../../renderer/pages/workers/facts.ts';
import { joinPhase } from '../../../../../renderer/pages/workers/join-phase.ts';
import { jobId, workerId, workerView } from '../../worker-builders.ts';

const since = '2026-03-01T12:00:00.000Z';
const quarantine = { reason: 'x', since, retry_at: since };

test('a quarantined worker is not called idle; a busy one that is tried again is busy', () => {
  const workers = [
    workerView({ quarantine }),
    workerView({ quarantine, status: 'busy' }),
    workerView({ status: 'busy' }),
    workerView(),
  ];
  expect(workers.map(shownState)).toEqual(['quarantined', 'busy', 'busy', 'idle']);
  expect(Object.fromEntries(countStates(workers))).toEqual({ quarantined: 1, busy: 2, idle: 1 });
});

test.each([
  ['NVIDIA GeForce RTX 4090', 'RTX 4090'],
  ['NVIDIA A100-SXM4-80GB', 'A100-SXM4'],
  ['NVIDIA H100 80GB HBM3', 'H100'],
  ['AMD Radeon RX 7900 XTX', 'Radeon RX 7900 XTX'],
  ['Apple M2 Ultra', 'Apple M2 Ultra'],
])('the card %s is called %s', (name, model) => {
  expect(gpuModel(name)).toBe(model);
});

test('the memory is that of all cards, of different ones too', () => {
  expect(vramTotal(workerView())).toBe(48);
  const { gpu_info: info } = workerView();
  const unequal = info.gpus.map((gpu, index) => ({ ...gpu, vram_gb: [24, 80][index] ?? 0 }));
  expect(vramTotal(workerView({ gpu_info: { ...info, gpus: unequal } }))).toBe(104);
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
])('a contact %d seconds ago is %s, unless the worker is offline', (age, level) => {
  expect(contactLevel(workerView({ last_contact_age_s: age }))).toBe(level);
  expect(contactLevel(workerView({ last_contact_age_s: age, status: 'offline' }))).toBe('good');
});

test('a worker that was never heard of has no late contact', () => {
  expect(contactLevel(workerView({ last_contact_age_s: null }))).toBe('good');
});

test('deleted can be who is offline or never came, and has no job', () => {
  expect(whyKept(workerView())).toBe('online');
  expect(whyKept(workerView({ status: 'offline' }))).toBeNull();
  expect(whyKept(workerView({ status: 'connecting', registered_at: null }))).toBeNull();
  expect(whyKept(workerView({ status: 'offline', current_job_id: jobId('j_one') }))).toBe('has_job');
});

test('an agent of protocol 1 with a job loses it when its token is refused', () => {
  const busy = { current_job_id: jobId('j_one'), status: 'busy' } as const;
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 1 }))).toBe(true);
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 2 }))).toBe(false);
  expect(losesJobOnRotation(workerView({ protocol: 1 }))).toBe(false);
  expect(losesJobOnRotation(workerView({ ...busy, protocol: 1, status: 'offline' }))).toBe(false);
});

test('labels bind a job to a worker when no other one has all of them', () => {
  const one = workerView({ labels: { team: 'nlp', rack: '4' } });
  const two = workerView({ id: workerId('w_two'), labels: { team: 'nlp' } });
  expect(labelsThatBind(one, [one, two])).toEqual({ team: 'nlp', rack: '4' });
  expect(labelsThatBind(two, [one, two])).toBeNull();
  const bare = workerView();
  expect(labelsThatBind(bare, [bare])).toEqual({});
  expect(labelsThatBind(bare, [bare, two])).toBeNull();
});

test('a label that would be a pattern binds nothing', () => {
  const star = workerView({ labels: { team: 'n*', rack: '4' } });
  const other = workerView({ id: workerId('w_two'), labels: { rack: '4' } });
  expect(labelsThatBind(star, [star])).toEqual({ rack: '4' });
  expect(labelsThatBind(star, [star, other])).toBeNull();
});

test('a new worker is listened for, says hello, and is there; or was', () => {
  expect(joinPhase(undefined)).toBe('listening');
  expect(joinPhase(workerView({ status: 'connecting', registered_at: null }))).toBe('listening');
  expect(joinPhase(workerView({ status: 'offline', registered_at: null }))).toBe('listening');
  expect(joinPhase(workerView({ status: 'connecting' }))).toBe('greeted');
  expect(joinPhase(workerView())).toBe('connected');
  expect(joinPhase(workerView({ status: 'busy' }))).toBe('connected');
  expect(joinPhase(workerView({ status: 'offline' }))).toBe('gone');
});
