import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ArtifactKey, ArtifactPath, checkpointOf, kindOf } from '../../../protocol/artifact.ts';
import { urlOf } from '../../../protocol/client.ts';

const keyOf = (...parts: readonly string[]): string | null => ArtifactKey.safeParse([...parts]).data ?? null;

describe('ArtifactKey', () => {
  test.each([
    [['model.safetensors'], 'model.safetensors'],
    [['checkpoint-500', 'optimizer.bin'], 'checkpoint-500/optimizer.bin'],
    [['größe', '模型 1.safetensors'], 'größe/模型 1.safetensors'],
    [['.gitattributes'], '.gitattributes'],
    [['100%.png'], '100%.png'],
    [['a...b', '-rf', '~'], 'a...b/-rf/~'],
    [['console.log', 'com10', 'connect'], 'console.log/com10/connect'],
    [['x'.repeat(200)], 'x'.repeat(200)],
  ])('accepts the parts %j as the key %s', (parts, key) => {
    expect(keyOf(...parts)).toBe(key);
  });

  test('normalizes accented characters to their composed form', () => {
    expect(keyOf('e\u0301')).toBe('\u00e9');
  });

  test.each([
    [[]],
    [['']],
    [['a', '']],
    [['.']],
    [['..']],
    [['a', '..', 'b']],
    [['a/b']],
    [['a\\b']],
    [['C:']],
    [['%2e%2E']],
    [['a%2Fb']],
    [['a\0b']],
    [['a\nb']],
    [['a\u2028b']],
    [['a\u202eb']],
    [['\ud800']],
    [['a*']],
    [['a?']],
    [['<a>']],
    [['a|b']],
    [['"']],
    [[' a']],
    [['a ']],
    [['a.']],
    [['CON']],
    [['nul.txt']],
    [['a', 'Com1.bin']],
    [['lpt9']],
    [['com²']],
    [['x'.repeat(201)]],
    [['模'.repeat(67)]],
    [Array.from({ length: 17 }, () => 'a')],
    [Array.from({ length: 8 }, () => 'x'.repeat(90))],
  ])('refuses the parts %j', parts => {
    expect(keyOf(...parts)).toBeNull();
  });

  test('accepts only keys whose path stays inside its folder on every system', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 12 }), { maxLength: 4 }), parts => {
        const key = keyOf(...parts);
        if (key === null) return;
        expect(new URL(encodeURI(key), 'http://x/folder/').pathname.startsWith('/folder/')).toBe(true);
        for (const segment of key.split('/')) expect(segment).not.toMatch(/^\.{0,2}$|[\\:\0]/);
      }),
    );
  });

  test('encodes each part of a key separately in a URL', () => {
    const url = urlOf('http://x', '/a/:id/b/*key', { id: 'j/1', key: ['c d', '..e', 'f'] });
    expect(url.pathname).toBe('/a/j%2F1/b/c%20d/..e/f');
  });
});

describe('checkpointOf', () => {
  test.each([
    ['checkpoint-000500.bin', 'checkpoint-000500.bin', 500, true],
    ['out/checkpoint-500/sub/model.safetensors', 'out/checkpoint-500', 500, false],
    ['ckpt_7/x.pt', 'ckpt_7', 7, false],
    ['mine-step00001500.safetensors', 'mine-step00001500.safetensors', 1500, true],
    ['mine-step00001500-state/optimizer.bin', 'mine-step00001500-state', 1500, false],
    ['mine-000010-state/optimizer.bin', 'mine-000010-state', null, false],
    ['epoch=3-step=500.ckpt', 'epoch=3-step=500.ckpt', 500, true],
    ['mine-epoch-3.pt', 'mine-epoch-3.pt', null, true],
    ['dog/dog_000000250.safetensors', 'dog/dog_000000250.safetensors', 250, true],
    ['dog/dog_000000250/transformer/model.safetensors', 'dog/dog_000000250', 250, false],
    [
      'save/2026-11-23_17-00-00-save-500-2-0.safetensors',
      'save/2026-11-23_17-00-00-save-500-2-0.safetensors',
      500,
      true,
    ],
    [
      'backup/2026-11-23_17-00-00-backup-500-2-0/lora/lora.safetensors',
      'backup/2026-11-23_17-00-00-backup-500-2-0',
      500,
      false,
    ],
    ['mine-000001.safetensors', 'mine-000001.safetensors', null, true],
  ])('finds the checkpoint of %s: %s with step %s', (key, name, step, isFile) => {
    expect(checkpointOf(key)).toEqual({ name, step, isFile });
  });

  test.each([
    ['dog/dog.safetensors'],
    ['dog/optimizer.pt'],
    ['lora-2026112.safetensors'],
    ['checkpoint_last/x'],
    ['samples/step-500/0.png'],
    ['samples/step_500/notes.txt'],
    ['validation_step_500.png'],
    ['checkpoint-1234567890123.bin'],
    ['result.json'],
    [''],
  ])('finds no numbered checkpoint in %s', key => expect(checkpointOf(key)).toBeNull());
});

describe('ArtifactPath', () => {
  test('accepts and refuses the same keys as ArtifactKey', () => {
    expect(ArtifactPath.parse('a/b c')).toBe('a/b c');
    for (const bad of ['', '../x', 'a//b', '/a', 'a/..', 'a'.repeat(701)])
      expect(ArtifactPath.safeParse(bad).success).toBe(false);
  });
});

describe('kindOf', () => {
  test.each([
    ['checkpoint-500/pytorch_lora_weights.safetensors', 'checkpoint'],
    ['checkpoint-500/trainer_state.json', 'checkpoint'],
    ['output/checkpoint_last/x', 'checkpoint'],
    ['checkpoint-2814.bin', 'checkpoint'],
    ['my-lora-step00001500.safetensors', 'checkpoint'],
    ['my-lora_epoch-3.safetensors', 'checkpoint'],
    ['ckpt-3/x.pt', 'checkpoint'],
    ['checkpoint-500/validation_images/1.png', 'sample_image'],
    ['samples/0001.JPG', 'sample_image'],
    ['validation/clip.mp4', 'sample_image'],
    ['pytorch_lora_weights.safetensors', 'final_model'],
    ['model.ckpt', 'final_model'],
    ['unet/diffusion_pytorch_model.bin', 'final_model'],
    ['model.pt', 'final_model'],
    ['dog/optimizer.pt', 'other'],
    ['dog/dog.safetensors', 'final_model'],
    ['result.json', 'other'],
    ['stepping-stones.txt', 'other'],
    ['checkpoints-of-others.txt', 'other'],
    ['png', 'other'],
  ])('classifies the artifact %s as %s', (key, kind) => {
    expect(kindOf(key)).toBe(kind);
  });
});
