import { describe, expect, test } from 'vitest';
import {
  type Checkpoint,
  checkpointsIn,
  completes,
  expired,
  judge,
  lossAt,
  resumptionOf,
} from '../../../../../main/orchestrator/rules/checkpoint-rules.ts';
import type { Artifact } from '../../../../../main/orchestrator/ports/index.ts';
import { grow } from '../../../../../main/orchestrator/rules/metric-rules.ts';
import { kindOf } from '../../../../../protocol/artifact.ts';
import { jobId } from '../builders.ts';

// Each file is newer than the previous file.
let order = 0;
const makeFile = (key: string, attempt = 1): Artifact => {
  order += 1;
  return {
    jobId: jobId('j1'),
    order,
    attempt,
    key,
    kind: kindOf(key),
    bytes: 10,
    sha256: 'ab',
    file: `f${order}`,
    createdAt: 1_000 + order,
  };
};
const namesOf = (checkpoints: readonly Checkpoint[]) => checkpoints.map(({ name }) => name);
const noLoss = () => null;

describe('completes', () => {
  test.each([
    ['checkpoint-500.bin', true],
    ['checkpoint-500/model.safetensors', false],
    ['checkpoint-500/checkpoint-manifest.json', true],
    ['checkpoint-500/deeper/checkpoint-manifest.json', false],
    ['model.safetensors', false],
  ])('decides whether file %s completes a checkpoint: %s', (key, expected) =>
    expect(completes(key)).toBe(expected),
  );
});

describe('checkpointsIn', () => {
  test('groups files by checkpoint name and adds up their bytes', () => {
    const [first, second] = checkpointsIn([
      makeFile('checkpoint-500/a.bin'),
      makeFile('model.safetensors'),
      makeFile('checkpoint-500/sub/b.bin'),
      makeFile('checkpoint-000400.bin'),
      makeFile('checkpoint-500/checkpoint-manifest.json', 2),
    ]);
    expect(first).toMatchObject({
      name: 'checkpoint-500',
      step: 500,
      isFile: false,
      bytes: 30,
      isComplete: true,
      attempt: 2,
    });
    expect(second).toMatchObject({
      name: 'checkpoint-000400.bin',
      step: 400,
      isFile: true,
      isComplete: true,
    });
  });

  test('takes the attempt and the time of a checkpoint from its last file', () => {
    const all = [makeFile('checkpoint-500/a.bin', 1), makeFile('checkpoint-500/b.bin', 2)];
    for (const files of [all, all.toReversed()])
      expect(checkpointsIn(files)).toMatchObject([{ attempt: 2, createdAt: all[1]?.createdAt }]);
  });

  test('marks a checkpoint with missing files as incomplete', () => {
    expect(checkpointsIn([makeFile('checkpoint-500/a.bin')])).toMatchObject([{ isComplete: false }]);
  });

  test('sorts checkpoints by attempt, then by step', () => {
    const all = [
      makeFile('checkpoint-900.bin', 1),
      makeFile('checkpoint-300.bin', 2),
      makeFile('checkpoint-100.bin', 2),
      makeFile('checkpoint-200.bin', 2),
    ];
    expect(namesOf(checkpointsIn(all))).toEqual([
      'checkpoint-300.bin',
      'checkpoint-200.bin',
      'checkpoint-100.bin',
      'checkpoint-900.bin',
    ]);
  });

  test('sorts checkpoints without steps by time', () => {
    const all = [makeFile('a-epoch-1.bin'), makeFile('a-epoch-2.bin'), makeFile('checkpoint-5.bin')];
    expect(namesOf(checkpointsIn(all))).toEqual(['checkpoint-5.bin', 'a-epoch-2.bin', 'a-epoch-1.bin']);
  });

  test('puts the folder before the file of the same step', () => {
    const weights = makeFile('lora-step00000500.safetensors');
    const state = makeFile('lora-step00000500-state/optimizer.bin');
    for (const all of [
      [weights, state],
      [state, weights],
    ])
      expect(checkpointsIn(all).map(({ isFile }) => isFile)).toEqual([false, true]);
    const [newer, older] = checkpointsIn([makeFile('a-step00000500.bin'), makeFile('b-step00000500.bin')]);
    expect([newer?.name, older?.name]).toEqual(['b-step00000500.bin', 'a-step00000500.bin']);
  });
});

describe('lossAt', () => {
  const buckets = grow(
    [],
    [
      { step: 100, ms: 1, value: 4 },
      { step: 950, ms: 2, value: 2 },
      { step: 1_000, ms: 3, value: 1 },
      { step: 1_010, ms: 4, value: null },
      { step: null, ms: 5, value: 9 },
    ],
    1,
  );
  test.each([
    ['the mean of the last tenth of the steps', 1_000, 1.5],
    ['the mean without later values', 999, 2],
    ['the last known value when recent values are missing', 500, 4],
    ['the mean of the last tenth of the steps after a point without a value', 1_010, 1.5],
    ['null without an earlier value', 99, null],
  ])('returns %s at step %s', (_case, step, loss) => expect(lossAt(buckets, step)).toBe(loss));
});

describe('judge', () => {
  test('marks the newest complete checkpoint and the checkpoint with the lowest loss', () => {
    const queried: string[] = [];
    const losses: Readonly<Record<string, number>> = {
      'checkpoint-100.bin': 3,
      'checkpoint-200.bin': 1,
      'checkpoint-300.bin': 2,
    };
    const judged = judge(
      checkpointsIn([
        makeFile('checkpoint-100.bin'),
        makeFile('checkpoint-200.bin'),
        makeFile('checkpoint-300.bin'),
        makeFile('checkpoint-400/half.bin'),
      ]),
      ({ name }) => {
        queried.push(name);
        return losses[name] ?? null;
      },
    );
    expect(queried).toEqual(['checkpoint-300.bin', 'checkpoint-200.bin', 'checkpoint-100.bin']);
    expect(judged.map(({ name, isNewest, isBest, loss }) => [name, isNewest, isBest, loss])).toEqual([
      ['checkpoint-400', false, false, null],
      ['checkpoint-300.bin', true, false, 2],
      ['checkpoint-200.bin', false, true, 1],
      ['checkpoint-100.bin', false, false, 3],
    ]);
  });

  test('does not mark a checkpoint as newest when the trainer cannot resume from it', () => {
    const checkpoints = checkpointsIn([
      makeFile('backup/x-backup-100-0-100/model.bin'),
      makeFile('backup/x-backup-100-0-100/checkpoint-manifest.json'),
      ...[200, 300, 400].map(step => makeFile(`save/x-save-${step}-0-${step}.safetensors`)),
    ]);
    const judged = judge(checkpoints, noLoss, ({ isFile }) => !isFile);
    expect(judged.find(({ isNewest }) => isNewest)?.name).toBe('backup/x-backup-100-0-100');
    expect(namesOf(expired(judged, 1))).toEqual([
      'save/x-save-300-0-300.safetensors',
      'save/x-save-200-0-200.safetensors',
    ]);
  });

  test('marks the newer of two checkpoints with the same loss as best, and no checkpoint without losses', () => {
    const checkpoints = checkpointsIn([
      makeFile('checkpoint-1.bin'),
      makeFile('checkpoint-2.bin'),
      makeFile('e-epoch-1.bin'),
    ]);
    expect(judge(checkpoints, () => 1).map(({ isBest }) => isBest)).toEqual([true, false, false]);
    expect(judge(checkpoints, noLoss).some(({ isBest }) => isBest)).toBe(false);
  });
});

describe('expired', () => {
  const steps = [100, 200, 300, 400, 500];
  const all = () => checkpointsIn(steps.map(step => makeFile(`checkpoint-${step}.bin`)));

  test('expires all checkpoints except the given number of newest checkpoints and the best checkpoint', () => {
    const judged = judge(all(), ({ step }) => (step === 100 ? 1 : 2));
    expect(namesOf(expired(judged, 3))).toEqual(['checkpoint-200.bin']);
    expect(namesOf(expired(judged, 1))).toEqual([
      'checkpoint-400.bin',
      'checkpoint-300.bin',
      'checkpoint-200.bin',
    ]);
    expect(expired(judged, 5)).toEqual([]);
    expect(expired(judged, 0)).toEqual([]);
  });

  test('keeps both the file and the folder of a step that is kept', () => {
    const checkpoints = checkpointsIn(
      [1, 2].flatMap(step => [
        makeFile(`a-step0000000${step}.safetensors`),
        makeFile(`a-step0000000${step}-state/x.bin`),
        makeFile(`a-step0000000${step}-state/checkpoint-manifest.json`),
      ]),
    );
    expect(namesOf(expired(judge(checkpoints, noLoss), 1))).toEqual([
      'a-step00000001-state',
      'a-step00000001.safetensors',
    ]);
    const epochs = checkpointsIn([1, 2].map(epoch => makeFile(`a-epoch-${epoch}.bin`)));
    expect(namesOf(expired(judge(epochs, noLoss), 1))).toEqual(['a-epoch-1.bin']);
  });

  test('expires incomplete checkpoints of an earlier attempt once a later attempt has a complete checkpoint', () => {
    const incomplete = makeFile('checkpoint-100/a.bin', 1);
    expect(expired(judge(checkpointsIn([incomplete]), noLoss), 3)).toEqual([]);
    expect(expired(judge(checkpointsIn([incomplete, makeFile('checkpoint-90.bin', 1)]), noLoss), 3)).toEqual(
      [],
    );
    const after = judge(checkpointsIn([incomplete, makeFile('checkpoint-90.bin', 2)]), noLoss);
    expect(namesOf(expired(after, 3))).toEqual(['checkpoint-100']);
  });
});

describe('resumptionOf', () => {
  const checkpointAt = (step: number | null) => ({ name: 'c', step, isFile: true });
  test.each([
    [checkpointAt(500), 637, { checkpoint: 'c', step: 500, stepsLost: 137 }],
    // The last reported step can be older than the uploaded checkpoint.
    [checkpointAt(500), 490, { checkpoint: 'c', step: 500, stepsLost: 0 }],
    [checkpointAt(null), 637, { checkpoint: 'c', step: null, stepsLost: null }],
    [checkpointAt(500), null, { checkpoint: 'c', step: 500, stepsLost: null }],
    [null, 637, { checkpoint: null, step: null, stepsLost: 637 }],
    [null, 0, null],
    [null, null, null],
  ])('computes the resumption from checkpoint %j after %s steps', (newest, stepsDone, resumption) =>
    expect(resumptionOf(newest, stepsDone)).toEqual(resumption),
  );
});
