import { expect, test } from 'vitest';
import type { DatasetView } from '../../../../../protocol/datasets-api.ts';
import { namesText, placesText, rigsWith } from '../../../../../renderer/pages/data/rigs.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { workerId, workerView } from '../../worker-builders.ts';

const t = await loadTexts('en', 'utc');
const dataset = (more: Partial<DatasetView> = {}): DatasetView => ({
  id: 1,
  name: 'photos',
  owner: 'ada',
  version: 'a'.repeat(64),
  files: 2,
  bytes: 12_000_000_000,
  created_at: '2026-03-01T12:00:00.000Z',
  pinned: false,
  jobs: 0,
  newest: true,
  ...more,
});
const fleet = new Map(
  ['rig-1', 'rig-2', 'rig-3'].map(name => [workerId(name), workerView({ id: workerId(name), name })]),
);
const unregistered = workerView({ id: workerId('new'), name: 'new', registered_at: null });

test('names the rigs that have a version, and the registered rigs that lack this version', () => {
  const all = new Map([...fleet, [unregistered.id, unregistered]]);
  expect(rigsWith(dataset({ workers: ['rig-2'], workers_count: 1 }), all)).toEqual({
    names: ['rig-2'],
    count: 1,
    missing: ['rig-1', 'rig-3'],
  });
});

test('returns null for missing rigs if the server names only some of the rigs that have a version', () => {
  expect(rigsWith(dataset({ workers: ['rig-2'], workers_count: 2 }), fleet)?.missing).toBeNull();
});

test('returns null if the server hides the workers from the user', () => {
  expect(rigsWith(dataset(), fleet)).toBeNull();
  expect(placesText(dataset(), t)).toBeNull();
});

test('counts the names of the workers when an older server sends no count', () => {
  expect(rigsWith(dataset({ workers: ['rig-2'] }), fleet)?.count).toBe(1);
});

test('names three workers and counts the rest', () => {
  expect(namesText(['a', 'b', 'c'], 3, t)).toBe('a, b, c');
  expect(namesText(['a', 'b', 'c', 'd'], 30, t)).toBe('a, b, c and 27 more');
});

test('returns a text with the rigs that have a version, and the size of the download for the other rigs', () => {
  expect(placesText(dataset({ workers: [], workers_count: 0 }), t)).toMatch(
    /^On no worker yet: the worker downloads 12 GB before the start\.$/,
  );
  expect(placesText(dataset({ workers: ['rig-1'], workers_count: 1 }), t)).toMatch(
    /^On rig-1\. Other workers download 12 GB before the start\.$/,
  );
});
