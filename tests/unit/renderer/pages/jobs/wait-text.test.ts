import { describe, expect, test } from 'vitest';
import type { JobWait } from '../../../../../protocol/job-wait.ts';
import { jobView } from '../../../../support/job-view.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { waitText, withTimeLeft } from '../../../../../renderer/pages/jobs/wait-text.ts';

const en = await loadTexts('en', 'utc');
const ja = await loadTexts('ja', 'utc');
const wait = (code: string, params: JobWait['params'] = {}, workers: JobWait['workers'] = []): JobWait => ({
  code,
  params,
  workers,
});

test.each<[JobWait, string]>([
  [wait('approval'), 'Needs approval'],
  [wait('paused', { by: 'ada' }), 'Queue paused by ada'],
  [wait('paused', { by: 'ada', note: 'a new fan' }), 'Queue paused by ada: a new fan'],
  [wait('backoff', { until: '2026-03-01T12:30:00.000Z' }), 'Next attempt at 12:30 PM'],
  [wait('limit', { running: 2, max: 2 }), 'Queue limit reached: 2 of 2 running'],
  [wait('limit', { running: 1, max: 1, user: 'bob' }), 'Limit of bob reached: 1 of 1 running'],
  [wait('ahead', { count: 1 }), '1 job is ahead'],
  [wait('ahead'), 'Hundreds of jobs are ahead'],
  [wait('requested', { pool: 'gpu', state: 'submitting' }), 'Requested from pool gpu: being ordered'],
  [wait('requested', { pool: 'gpu', state: 'running' }), 'Requested from pool gpu: its machine has started'],
  [
    wait('requested', {
      pool: 'gpu',
      state: 'waiting',
      reason: 'Resources',
      until: '2026-03-01T14:20:00.000Z',
    }),
    'Requested from pool gpu: Resources; expected start: 2:20 PM',
  ],
  [wait('after', { count: 1, name: 'flux', state: 'pending' }), 'Waits for flux (pending)'],
  [
    wait('after', { count: 3, name: 'flux', state: 'running', left_s: 2_400 }),
    'Waits for flux (running, 40m left) and 2 other jobs',
  ],
  [wait('after', { count: 2, name: 'flux', state: 'hibernating' }), 'Waits for flux and 1 other job'],
  [
    wait('after', { count: 1, name: 'flux', state: 'cancelled' }),
    'Waits for flux, which was cancelled. Retry that job, or cancel this one.',
  ],
  [
    wait('after', {
      count: 1,
      name: 'flux',
      state: 'completed',
      files: 'missing',
      input: 'lora',
      file: 'result',
    }),
    'Waits for flux, which does not have the file result (input lora). Retry that job, submit this one again with another file, or cancel it.',
  ],
  [wait('unmet'), 'No registered worker meets these requirements'],
  [wait('no_workers'), 'No workers yet'],
  [
    wait('busy', {}, [
      { code: 'busy', count: 3 },
      { code: 'settling', count: 1 },
      { code: 'offline', count: 2 },
    ]),
    'Waiting for a matching worker: 4 busy, 2 offline',
  ],
])('translates the wait %j', (jobWait, text) => {
  expect(waitText(jobWait, en)).toBe(text);
});

test.each<[string, JobWait['params'], string]>([
  ['busy', { left_s: 4_980 }, 'Waits for rig-1 (busy, 1h 23m left)'],
  ['draining', { left_s: 4_980 }, 'Waits for rig-1 (draining)'],
  ['leaving', { left_s: 4_980 }, 'Waits for rig-1 (shuts down after its job)'],
  ['local_limit', {}, 'Waiting for a matching worker: 1 blocked by a limit'],
])('names the only worker that fits, if it fails the check %s', (code, params, text) => {
  expect(waitText(wait('busy', params, [{ code, count: 1 }]), en, { worker: 'rig-1' })).toBe(text);
});

describe('the text of unmet requirements', () => {
  const anyWorker = {
    gpu_count: 0,
    num_nodes: 1,
    gpu_vram_gb: 0,
    accelerator: null,
    worker_labels: {},
    target: 'worker',
  };
  const textFor = (needs: object, ...codes: readonly string[]): string | null => {
    const workers = codes.map(code => ({ code, count: 1 }));
    return waitText(wait('unmet', {}, workers), en, { needs: { ...anyWorker, ...needs } });
  };

  test('names the requirements if the workers fail only checks of GPUs, machines and labels', () => {
    const eightGpus = { gpu_count: 8, gpu_vram_gb: 180, worker_labels: { gpu_type: 'b200*' } };
    expect(textFor(eightGpus, 'gpu_count', 'label')).toBe(
      'No worker meets the requirements: 8 GPUs, 180 GB per GPU, gpu_type=b200*',
    );
    expect(textFor({ num_nodes: 2, accelerator: 'cuda', target: 'local' }, 'nodes')).toBe(
      "No worker meets the requirements: 2 workers at once, the server's machine, cuda",
    );
  });

  test.each([
    ['a worker lacks the trainer', { gpu_count: 8 }, ['gpu_count', 'trainer']],
    ['the server does not report the checks', { gpu_count: 8 }, []],
    ['the job has no requirement to name', {}, ['label']],
  ])('names no requirements if %s', (_case, needs, codes) => {
    expect(textFor(needs, ...codes)).toBe('No registered worker meets these requirements');
  });
});

test('translates a wait into the chosen language', () => {
  expect(waitText(wait('ahead', { count: 3 }), ja)).toBe('先に 3 件のジョブがあります');
});

test('replaces the remaining time of a parent by the current estimate, or removes the time for an unknown parent', () => {
  const params = { count: 1, name: 'flux', state: 'running', left_s: 2_400 };
  const parent = jobView({ status: 'running', progress: { step: 9, eta_s: 60 } });
  expect(withTimeLeft(params, parent)).toEqual({ ...params, left_s: 60 });
  expect(withTimeLeft(params, undefined)).toEqual({ count: 1, name: 'flux', state: 'running' });
});

test('returns null for an unknown wait or an unknown reason of a worker', () => {
  expect(waitText(wait('weather'), en)).toBeNull();
  expect(waitText(wait('busy', {}, [{ code: 'weather', count: 1 }]), en)).toBeNull();
});
