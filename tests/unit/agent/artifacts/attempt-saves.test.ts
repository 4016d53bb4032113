import { expect, it } from 'vitest';
import { createAttemptSaves } from '../../../../agent/artifacts/attempt-saves.ts';
import type { Output } from '../../../../agent/artifacts/outputs.ts';
import { attemptId } from '../builders.ts';

const id = attemptId('a1');

/** A checkpoint whose files were last changed at these times. */
const checkpointOf = (isFolder: boolean, ...changedAt: readonly number[]): Output => ({
  name: 'checkpoint-1',
  kind: 'checkpoint',
  step: 1,
  isFolder,
  files: changedAt.map((at, n) => [`checkpoint-1/${n}`, { bytes: 1, changedAt: at }]),
  mark: '',
});

it.each<[string, boolean, number]>([
  ['a file', false, 5_000],
  ['a folder, whose trainer may pause between files,', true, 10_000],
])('counts %s as saved when it has not changed for some time', (_title, isFolder, unchangedMs) => {
  const startedAt = 1_000_000;
  const changedAt = startedAt + 3_000;
  let now = startedAt;
  const saves = createAttemptSaves(() => now);
  const noteUpload = saves.begin(id, now);
  saves.hasten(id);
  const checkpoint = checkpointOf(isFolder, startedAt + 1_000, changedAt);
  now += 4_000;
  noteUpload(checkpoint);
  now = changedAt + unchangedMs - 1;
  expect(saves.saved(id, [checkpoint])).toBe('earlier');
  now += 1;
  expect(saves.saved(id, [checkpoint])).toBe('newer');
  expect(saves.saved(id, [])).toBe('earlier');
});

it('ignores checkpoints of an earlier attempt in the same folder', () => {
  const saves = createAttemptSaves(() => 1_000_000);
  const old = checkpointOf(true, 900_000);
  const noteUpload = saves.begin(id, 950_000);
  noteUpload(old);
  expect([saves.saved(id, [old]), saves.saveMs()]).toEqual(['none', null]);
});

it('returns the longest of the last three save times, each from the first file to the upload', () => {
  let now = 1_000_000;
  const saves = createAttemptSaves(() => now);
  const noteUpload = saves.begin(id, now);
  for (const tookMs of [90_000, 10_000, 30_000, 20_000]) {
    const checkpoint = checkpointOf(true, now, now + 5_000);
    now += tookMs;
    noteUpload(checkpoint);
  }
  expect(saves.saveMs()).toBe(30_000);
});
