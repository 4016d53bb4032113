import { describe, expect, test } from 'vitest';
import { filesNamed, filesOfCheckpoint } from '../../../../../main/cli/jobs/files.ts';
import { type ArtifactView, type CheckpointView, kindOf } from '../../../../../protocol/artifact.ts';
import { JobId } from '../../../../../protocol/ids.ts';
import { sizeText } from '../../../../../protocol/text.ts';

const files = [
  'checkpoint-5/model.bin',
  'checkpoint-5/sample.png',
  'checkpoint-50/model.bin',
  'checkpoint-7.bin',
  'model.bin',
].map(
  (key): ArtifactView => ({
    job_id: JobId.parse('j_1'),
    key,
    kind: kindOf(key),
    bytes: 1,
    sha256: 'a'.repeat(64),
    attempt: 1,
    created_at: '2026-01-01T00:00:00Z',
  }),
);
const createCheckpoint = (name: string, overrides: Partial<CheckpointView> = {}): CheckpointView => ({
  name,
  step: 1,
  files: 1,
  bytes: 1,
  complete: true,
  newest: false,
  best: false,
  loss: null,
  attempt: 1,
  created_at: '2026-01-01T00:00:00Z',
  ...overrides,
});
const keysOrFailure = (selection: ReturnType<typeof filesNamed>) =>
  selection.ok ? selection.files.map(({ key }) => key) : selection.failure;

describe('filesNamed', () => {
  test.each([
    [[], files.map(({ key }) => key)],
    [['model.bin'], ['model.bin']],
    [['checkpoint-5'], ['checkpoint-5/model.bin', 'checkpoint-5/sample.png']],
    [
      ['checkpoint-5/', 'checkpoint-7.bin'],
      ['checkpoint-5/model.bin', 'checkpoint-5/sample.png', 'checkpoint-7.bin'],
    ],
  ])('selects files by the names %j, and all files without names', (names, keys) => {
    expect(keysOrFailure(filesNamed(files, names))).toEqual(keys);
  });

  test('returns exit code 4 for a name that matches no file', () => {
    expect(keysOrFailure(filesNamed(files, ['model.bin', 'checkpoint']))).toMatchObject({ code: 4 });
  });
});

describe('filesOfCheckpoint', () => {
  const checkpoints = [
    createCheckpoint('checkpoint-5', { best: true }),
    createCheckpoint('checkpoint-7.bin', { newest: true }),
  ];
  test.each([
    ['newest', ['checkpoint-7.bin']],
    ['best', ['checkpoint-5/model.bin']],
    ['checkpoint-5', ['checkpoint-5/model.bin']],
  ])('selects the checkpoint files, but no samples, for the choice "%s"', (choice, keys) => {
    expect(keysOrFailure(filesOfCheckpoint(files, checkpoints, choice))).toEqual(keys);
  });

  test('returns exit code 4 for an unknown checkpoint', () => {
    expect(keysOrFailure(filesOfCheckpoint(files, [createCheckpoint('checkpoint-5')], 'best'))).toMatchObject(
      {
        code: 4,
        message: expect.stringContaining('no best checkpoint') as string,
      },
    );
    expect(keysOrFailure(filesOfCheckpoint(files, checkpoints, 'checkpoint-6'))).toMatchObject({ code: 4 });
  });
});

test.each([
  [0, '0 bytes'],
  [999_600, '1 MB'],
  [12_345_678, '12.3 MB'],
])('formats %d bytes as %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
});
