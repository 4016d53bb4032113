import { describe, expect, test } from 'vitest';
import type { Artifact } from '../../../../../main/orchestrator/ports/index.ts';
import { checkpointsIn, judge } from '../../../../../main/orchestrator/rules/checkpoint-rules.ts';
import { findInput, pathIn } from '../../../../../main/orchestrator/rules/input-rules.ts';
import { kindOf, manifestName } from '../../../../../protocol/artifact.ts';
import { readInputFile } from '../../../../../protocol/job-inputs.ts';
import { jobId } from '../builders.ts';

/** Creates files with the given keys, in upload order. An entry can name the attempt that uploaded the file. */
const makeArtifacts = (
  keys: readonly (string | readonly [key: string, attempt: number])[],
): readonly Artifact[] =>
  keys.map((entry, index) => {
    const [key, attempt] = typeof entry === 'string' ? [entry, 1] : entry;
    const file = { bytes: 10, sha256: 'ab', file: `f${index}`, createdAt: 1_000 + index };
    return { jobId: jobId('j_1'), order: index + 1, attempt, key, kind: kindOf(key), ...file };
  });

/** Finds the input `text` among files with the given keys. `losses` has the loss of each checkpoint by its step. */
function find(
  text: string,
  keys: Parameters<typeof makeArtifacts>[0],
  losses: Readonly<Record<number, number>> = {},
) {
  const artifacts = makeArtifacts(keys);
  const input = readInputFile(text);
  if (input === null) throw new Error(`${text} is not valid`);
  const result = findInput(input, {
    checkpoints: () =>
      judge(
        checkpointsIn(artifacts),
        ({ step }) => (step === null ? null : (losses[step] ?? null)),
        ({ isFile }) => !isFile,
      ),
    models: () => artifacts.filter(({ kind }) => kind === 'checkpoint' || kind === 'final_model'),
    file: key => artifacts.find(artifact => artifact.key === key) ?? null,
    below: (folder, limit) => artifacts.filter(({ key }) => key.startsWith(`${folder}/`)).slice(0, limit),
  });
  return typeof result === 'string' ? result : { key: result.key, files: result.files.map(({ key }) => key) };
}

const folderOf = (name: string): readonly string[] => [`${name}/model.bin`, `${name}/${manifestName}`];
const single = (key: string) => ({ key, files: [key] });

// A state is a checkpoint from which a training can continue. Weights alone are not a state.
describe('a state to continue from', () => {
  const state = (step: number) => `m-step00000${step}-state`;
  const saved = [100, 200, 300].flatMap(step => [`m-step00000${step}.safetensors`, ...folderOf(state(step))]);
  const folder = (step: number) => ({ key: state(step), files: folderOf(state(step)) });

  test.each([
    ['state newest', {}, folder(300)],
    ['state 100', {}, folder(100)],
    ['state best', { 100: 0.5, 200: 0.1, 300: 0.4 }, folder(200)],
    ['state best', { 300: 0.4 }, folder(300)],
    ['state best', {}, 'has no loss by which its checkpoints could be compared'],
    ['state 150', {}, 'has no checkpoint of step 150 from which a training can continue'],
  ])(
    'finds the state of the input "%s" beside weights of the same step with the losses %j',
    (text, losses, expected) => expect(find(text, saved, losses)).toEqual(expected),
  );

  test('finds the only state as the best state without losses, and never finds weights alone', () => {
    expect(find('state best', ['m-step00000900.safetensors', ...folderOf(state(100))])).toEqual(folder(100));
    expect(find('state newest', ['m-step00000900.safetensors'])).toBe(
      'has no checkpoint from which a training can continue',
    );
  });
});

describe('an input that is a checkpoint', () => {
  const saved = ['m-step00000100.safetensors', 'm-step00000200.safetensors', 'm-step00000300.safetensors'];

  test.each([
    ['checkpoint newest', {}, single('m-step00000300.safetensors')],
    ['checkpoint best', { 100: 0.5, 200: 0.1, 300: 0.4 }, single('m-step00000200.safetensors')],
    ['checkpoint 100', {}, single('m-step00000100.safetensors')],
    ['checkpoint m-step00000100.safetensors', {}, single('m-step00000100.safetensors')],
    ['checkpoint 150', {}, 'has no checkpoint of step 150'],
    ['checkpoint best', {}, 'has no loss by which its checkpoints could be compared'],
  ])('finds the checkpoint of the input "%s" with the losses %j', (text, losses, expected) =>
    expect(find(text, saved, losses)).toEqual(expected),
  );

  test('finds the only checkpoint as the best checkpoint even without a loss', () => {
    expect(find('checkpoint best', [['m-step00000100.safetensors', 1]])).toEqual(
      single('m-step00000100.safetensors'),
    );
    expect(find('checkpoint best', ['m.safetensors'])).toBe('has no checkpoint');
    expect(find('checkpoint newest', ['m.safetensors'])).toBe('has no checkpoint');
  });

  test('finds the checkpoint that the trainer named "best" when no loss is known', () => {
    const keys = [...saved, 'run/checkpoint-best/a.bin', 'run/checkpoint-best/b.bin', 'run/bestiary.bin'];
    expect(find('checkpoint best', keys)).toEqual({
      key: 'run/checkpoint-best',
      files: ['run/checkpoint-best/a.bin', 'run/checkpoint-best/b.bin'],
    });
    expect(find('checkpoint best', [...saved, 'model_best.pt'])).toEqual(single('model_best.pt'));
    expect(find('checkpoint best', [...saved, 'model_best.pt'], { 100: 1 })).toEqual(single(saved[0] ?? ''));
  });

  test('finds a checkpoint folder with all its files, or only the weights if these are beside the folder', () => {
    const folder = folderOf('checkpoint-100');
    expect(find('checkpoint 100', folder)).toEqual({ key: 'checkpoint-100', files: folder });
    const state = folderOf('m-step00000200-state');
    const keys = [...state, 'm-step00000200.safetensors'];
    expect(find('checkpoint newest', keys)).toEqual(single('m-step00000200.safetensors'));
    expect(find('m-step00000200-state', keys)).toEqual({ key: 'm-step00000200-state', files: state });
    expect(find('checkpoint newest', folderOf('m-000003-state'))).toMatchObject({ key: 'm-000003-state' });
  });

  test('ignores a checkpoint until all its files are uploaded', () => {
    const keys = ['checkpoint-100/model.bin'];
    expect(find('checkpoint newest', keys)).toBe('has no checkpoint');
    expect(find('checkpoint-100', keys)).toBe('has only a part of checkpoint-100');
  });
});

describe('an input that is the result', () => {
  test.each([
    [['lora.safetensors', 'samples/a.png', 'm-step00000100.safetensors'], single('lora.safetensors')],
    [['ema/lora.safetensors', 'lora.safetensors', 'ema/b.safetensors'], single('lora.safetensors')],
    [['lora.bin', 'lora.safetensors', 'late.bin'], single('lora.safetensors')],
    [['a.safetensors', 'b.safetensors'], single('b.safetensors')],
    [[['a.safetensors', 2] as const, ['b.safetensors', 1] as const], single('a.safetensors')],
    [['notes.txt', 'checkpoint-100.pt'], 'has no final model'],
  ])('finds the final model among %j', (keys, expected) => expect(find('result', keys)).toEqual(expected));
});

describe('an input that is a path', () => {
  test.each([
    ['notes.txt', single('notes.txt')],
    ['./result', single('result')],
    ['run', { key: 'run', files: ['run/a', 'run/b/c'] }],
    ['run/b/', { key: 'run/b', files: ['run/b/c'] }],
    ['ru', 'has no file ru'],
  ])('finds the files of the path "%s"', (text, expected) =>
    expect(find(text, ['notes.txt', 'result', 'run/a', 'run/b/c', 'running'])).toEqual(expected),
  );

  test('refuses a folder with too many files', () => {
    const keys = Array.from({ length: 1_001 }, (_, n) => `run/${n}`);
    expect(find('run', keys)).toBe('has more than 1000 files in run');
  });

  test('starts the path of a file inside an input with the name of the input', () => {
    expect(pathIn({ key: 'out/run' }, 'out/run/a/b')).toBe('run/a/b');
    expect(pathIn({ key: 'lora.bin' }, 'lora.bin')).toBe('lora.bin');
  });
});
