import { expect, test } from 'vitest';
import type { WorkerView } from '../../../../../protocol/worker.ts';
import { workerId, workerView } from '../../worker-builders.ts';
import { parseQuery, withState } from '../../../../../renderer/pages/workers/filter.tsx';

const worker = (name: string, overrides: Partial<WorkerView>): WorkerView =>
  workerView({ id: workerId(`w_${name}`), name, host: null, ...overrides });

const since = '2026-03-01T12:00:00.000Z';
const fleet = [
  worker('alpha', { status: 'busy', labels: { team: 'nlp', rack: '4' }, gpu_count: 8, gpu_vram_gb: 80 }),
  worker('beta', { labels: { team: 'vision' }, gpu_count: 4, gpu_name: 'AMD Radeon RX 7900 XTX' }),
  worker('gamma', { status: 'offline', worker_type: 'ephemeral', gpu_count: 1, host: 'pod-17' }),
  worker('delta', { gpu_count: 0, gpu_vram_gb: null, quarantine: { reason: 'x', since, retry_at: since } }),
  worker('epsilon', { labels: { Team: 'NLP-2' }, duplicate: { at: since, host: null, address: null } }),
];
const matchingNames = (text: string): string[] => fleet.filter(parseQuery(text).fits).map(({ name }) => name);

test.each([
  ['', ['alpha', 'beta', 'gamma', 'delta', 'epsilon']],
  ['state:busy', ['alpha']],
  ['STATE:Busy', ['alpha']],
  ['state:busy,offline', ['alpha', 'gamma']],
  ['state:idle', ['beta', 'epsilon']],
  ['state:quarantined', ['delta']],
  ['state:duplicate', ['epsilon']],
  ['label:team=nlp', ['alpha']],
  ['label:team=nlp*', ['alpha', 'epsilon']],
  ['label:team=*i*n', ['beta']],
  ['label:team', ['alpha', 'beta', 'epsilon']],
  ['label:team=', []],
  ['label:team=(', []],
  ['gpu:>=4', ['alpha', 'beta']],
  ['gpu:>4', ['alpha']],
  ['gpu:<2', ['gamma', 'delta']],
  ['gpu:<=1', ['gamma', 'delta']],
  ['gpu:4', ['beta']],
  ['gpu:=4', ['beta']],
  ['vram:>=80', ['alpha']],
  ['vram:0', ['delta']],
  ['type:ephemeral', ['gamma']],
  ['radeon', ['beta']],
  ['POD-1', ['gamma']],
  ['w_delta', ['delta']],
  ['  ta   gpu:>=1 ', ['beta']],
  ['state:busy beta', []],
])('finds for %j the workers %j', (text, names) => {
  expect(matchingNames(text)).toEqual(names);
  expect(parseQuery(text).unknown).toEqual([]);
});

test('reports an invalid part of the query, and matches no workers', () => {
  for (const part of ['gpu:many', 'gpu:>=', 'vram:-1', 'state:asleep', 'state:busy,asleep', 'type:big']) {
    expect(parseQuery(`alpha ${part}`).unknown).toEqual([part]);
    expect(matchingNames(part)).toEqual([]);
  }
});

test('ignores a filter without a value, because the user is still typing', () => {
  for (const part of ['state:', 'label:', 'gpu:']) expect(matchingNames(`alpha ${part}`)).toEqual(['alpha']);
});

test('searches a word with an unknown prefix as plain text', () => {
  expect(matchingNames('al:pha')).toEqual([]);
  expect(parseQuery('al:pha').unknown).toEqual([]);
});

test('replaces the state filter of a query and keeps the rest of the query', () => {
  expect(parseQuery('state:busy,idle x').states).toEqual(['busy', 'idle']);
  expect(withState('state:busy gpu:>=4 name', 'idle')).toBe('state:idle gpu:>=4 name');
  expect(withState('gpu:>=4  State:busy', null)).toBe('gpu:>=4');
  expect(withState('', 'offline')).toBe('state:offline');
});
