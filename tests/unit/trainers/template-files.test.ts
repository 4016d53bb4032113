import { describe, expect, it } from 'vitest';
import { secretsOf, writeInFile } from '../../../trainers/index.ts';

// A dataset config of sd-scripts.
const toml = `[general]
caption_extension = ".txt" # captions

[[datasets]]
resolution = 512
  [[datasets.subsets]]
  image_dir = "/data/dog"
  num_repeats = 10
`;
const write = (key: string, type: 'text' | 'integer', value: string | number, text = toml, path = 'd.toml') =>
  writeInFile({ path, text }, { key, type }, value);

describe('writeInFile', () => {
  it('changes one value, and keeps the comments and the order of the file', () => {
    expect(write('datasets.0.subsets.0.image_dir', 'text', '/data/my cat')).toBe(
      toml.replace('/data/dog', '/data/my cat'),
    );
    expect(write('datasets.0.subsets.0.num_repeats', 'integer', 2)).toBe(toml.replace('10', '2'));
    expect(write('general.caption_extension', 'text', '.caption')).toContain('".caption" # captions');
  });

  it.each([
    ['datasets.1.subsets.0.image_dir', toml, 'd.toml'],
    ['datasets.0.resolution.x', toml, 'd.toml'],
    ['a', 'a: [', 'd.yaml'],
    ['a', 'a', 'captions.txt'],
  ])('returns null when it finds no key %s in the file', (key, text, path) =>
    expect(write(key, 'text', 'x', text, path)).toBeNull(),
  );
});

describe('secretsOf', () => {
  it('returns the paths of secrets in the config, its dataloader and its files', () => {
    const token = 'hf_0123456789abcdef';
    expect(
      secretsOf({
        config: { huggingface_token: token, a: [{ wandb_api_key: token }] },
        dataloader: [{ aws_secret_access_key: token }],
        files: { 'x.toml': `api_key = "${token}"`, 'y.json': '{', 'notes.txt': `token = ${token}` },
      }),
    ).toEqual([
      'huggingface_token',
      'a.0.wandb_api_key',
      'dataloader: 0.aws_secret_access_key',
      'x.toml: api_key',
    ]);
  });

  it.each([
    { max_token_length: 225 },
    { max_token_length: '22500000' },
    { keep_tokens_separator: '|||' },
    { token_string: 'a photo of ohwx' },
    { hf_token: '{env:HF_TOKEN}' },
    { hf_token: '${HF_TOKEN_OF_TEAM}' },
    { tokenizer: 'openai-clip-vit-large' },
    { password: null },
  ])('finds no secret in %j', config => expect(secretsOf({ config })).toEqual([]));
});

describe('writeInFile with lists of tables', () => {
  const lists = `[[a]]\nx = 1\n[a.t]\nx = 2\n[[a]]\nx = 3\n  [[a.b]]\n  x = 4\n  [[a.b]]\n  x = 5\n[c]\nx = 6\n`;
  it.each([
    ['a.0.x', 1],
    ['a.0.t.x', 2],
    ['a.1.x', 3],
    ['a.1.b.0.x', 4],
    ['a.1.b.1.x', 5],
    ['c.x', 6],
  ])('changes the value at %s', (key, oldValue) =>
    expect(write(key, 'integer', 9, lists)).toBe(lists.replace(`x = ${oldValue}`, 'x = 9')),
  );
});
