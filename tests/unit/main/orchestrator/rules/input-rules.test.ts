import { describe, expect, test } from 'vitest';
import type { Artifact } from '../../../../../main/orchestrator/ports/index.ts';
import { checkpointsIn, judge } from '../../../../../main/orchestrator/rules/checkpoint-rules.ts';
import { findInput, pathIn } from '../../../../../main/orchestrator/rules/input-rules.ts';
import { kindOf, manifestName } from '../../../../../protocol/artifact.ts';
import { readInputFile } from '../../../../../protocol/job-inputs.ts';
import { jobId } from '../builders.ts';

/** Files by key, in the order of their upload. A number is the attempt that uploaded the file. */
const artifacts = (
  keys: readonly (string | readonly [key: string, attempt: number])[],
): readonly Artifact[] =>
  keys.map((each, index) => {
    const [key, attempt] = typeof each === 'string' ? [each, 1] : each;
    const file = { bytes: 10, sha256: 'ab', file: `f${index}`, createdAt: 1_000 + index };
    return { jobId: jobId('j_1'), order: index + 1, attempt, key, kind: kindOf(key), ...file };
  });

/** Finds an input among these files. `losses`: by the step of the checkpoint. */
function found(
  text: string,
  keys: Parameters<typeof artifacts>[0],
  losses: Readonly<Record<number, number>> = {},
) {
  const all = artifacts(keys);
  const wanted = readInputFile(text);
  if (wanted === null) throw new Error(`${text} is not valid`);
  const result = findInput(wanted, {
    checkpoints: () =>
      judge(checkpointsIn(all), ({ step }) => (step === null ? null : (losses[step] ?? null))),
    models: () => all.filter(({ kind }) => kind === 'checkpoint' || kind === 'final_model'),
    file: key => all.find(each => each.key === key) ?? null,
    below: (folder, limit) => all.filter(({ key }) => key.startsWith(`${folder}/`)).slice(0, limit),
  });
  return typeof result === 'string' ? result : { key: result.key, files: result.files.map(({ key }) => key) };
}

const folderOf = (name: string): readonly string[] => [`${name}/model.bin`, `${name}/${manifestName}`];
const single = (key: string) => ({ key, files: [key] });

describe('a checkpoint', () => {
  const saved = ['m-step00000100.safetensors', 'm-step00000200.safetensors', 'm-step00000300.safetensors'];

  test.each([
    ['checkpoint newest', {}, single('m-step00000300.safetensors')],
    ['checkpoint best', { 100: 0.5, 200: 0.1, 300: 0.4 }, single('m-step00000200.safetensors')],
    ['checkpoint 100', {}, single('m-step00000100.safetensors')],
    ['checkpoint m-step00000100.safetensors', {}, single('m-step00000100.safetensors')],
    ['checkpoint 150', {}, 'has no checkpoint of step 150'],
    ['checkpoint best', {}, 'has no loss by which its checkpoints could be compared'],
  ])('is found by "%s" with the losses %j', (text, losses, expected) =>
    expect(found(text, saved, losses)).toEqual(expected),
  );

  test('is the only one, if there is one without a loss, or none', () => {
    expect(found('checkpoint best', [['m-step00000100.safetensors', 1]])).toEqual(
      single('m-step00000100.safetensors'),
    );
    expect(found('checkpoint best', ['m.safetensors'])).toBe('has no checkpoint');
    expect(found('checkpoint newest', ['m.safetensors'])).toBe('has no checkpoint');
  });

  test('is one that the trainer named best, if no loss is known', () => {
    const keys = [...saved, 'run/checkpoint-best/a.bin', 'run/checkpoint-best/b.bin', 'run/bestiary.bin'];
    expect(found('checkpoint best', keys)).toEqual({
      key: 'run/checkpoint-best',
      files: ['run/checkpoint-best/a.bin', 'run/checkpoint-best/b.bin'],
    });
    expect(found('checkpoint best', [...saved, 'model_best.pt'])).toEqual(single('model_best.pt'));
    expect(found('checkpoint best', [...saved, 'model_best.pt'], { 100: 1 })).toEqual(single(saved[0] ?? ''));
  });

  test('is a folder with all its files, but the weights alone if they are beside it', () => {
    const folder = folderOf('checkpoint-100');
    expect(found('checkpoint 100', folder)).toEqual({ key: 'checkpoint-100', files: folder });
    const state = folderOf('m-step00000200-state');
    const keys = [...state, 'm-step00000200.safetensors'];
    expect(found('checkpoint newest', keys)).toEqual(single('m-step00000200.safetensors'));
    expect(found('m-step00000200-state', keys)).toEqual({ key: 'm-step00000200-state', files: state });
    expect(found('checkpoint newest', folderOf('m-000003-state'))).toMatchObject({ key: 'm-000003-state' });
  });

  test('does not count before all its files are uploaded', () => {
    const keys = ['checkpoint-100/model.bin'];
    expect(found('checkpoint newest', keys)).toBe('has no checkpoint');
    expect(found('checkpoint-100', keys)).toBe('has only a part of checkpoint-100');
  });
});

describe('the result', () => {
  test.each([
    [['lora.safetensors', 'samples/a.png', 'm-step00000100.safetensors'], single('lora.safetensors')],
    [['ema/lora.safetensors', 'lora.safetensors', 'ema/b.safetensors'], single('lora.safetensors')],
    [['lora.bin', 'lora.safetensors', 'late.bin'], single('lora.safetensors')],
    [['a.safetensors', 'b.safetensors'], single('b.safetensors')],
    [[['a.safetensors', 2] as const, ['b.safetensors', 1] as const], single('a.safetensors')],
    [['notes.txt', 'checkpoint-100.pt'], 'has no final model'],
  ])('is found among %j', (keys, expected) => expect(found('result', keys)).toEqual(expected));
});

describe('a path', () => {
  test.each([
    ['notes.txt', single('notes.txt')],
    ['./result', single('result')],
    ['run', { key: 'run', files: ['run/a', 'run/b/c'] }],
    ['run/b/', { key: 'run/b', files: ['run/b/c'] }],
    ['ru', 'has no file ru'],
  ])('finds "%s"', (text, expected) =>
    expect(found(text, ['notes.txt', 'result', 'run/a', 'run/b/c', 'running'])).toEqual(expected),
  );

  test('with too many files is refused', () => {
    const keys = Array.from({ length: 1_001 }, (_, n) => `run/${n}`);
    expect(found('run', keys)).toBe('has more than 1000 files in run');
  });

  test('of a file of an input begins with the name of the input', () => {
    expect(pathIn({ key: 'out/run' }, 'out/run/a/b')).toBe('run/a/b');
    expect(pathIn({ key: 'lora.bin' }, 'lora.bin')).toBe('lora.bin');
  });
});
