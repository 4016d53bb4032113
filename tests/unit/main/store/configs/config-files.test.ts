// See docs/internals/faults.md, S8, and docs/internals/worker-contract.md, section 1.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../support/fleet-outcome.ts';
import { createConfigFiles } from '../../../../../main/store/configs/config-files.ts';

// File contents by path. Strings are written unchanged, all other values as JSON.
type Files = Readonly<Record<string, unknown>>;

function write(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** Creates a configs folder beside files that must stay unreachable. */
function setUp(files: Files): { readonly root: string; readonly configs: string } {
  const root = openFolder();
  const configs = join(root, 'configs');
  mkdirSync(configs);
  write(configs, files);
  write(root, { 'secret.json': { secret: true }, 'private/config.json': { secret: true } });
  return { root, configs };
}

const load = (configs: string, name: string) => createConfigFiles(configs).load(name);

describe('loading a config', () => {
  test.each<[string, Files]>([
    ['directly in the configs folder', { 'lora.json': { lr: 1 } }],
    ['in its own folder', { 'lora/config.json': { lr: 1 } }],
    ['as a file when a folder has the same name', { 'lora.json': { lr: 1 }, 'lora/config.json': { lr: 2 } }],
    [
      'in its own folder when a folder blocks the file name',
      { 'lora.json/x': '', 'lora/config.json': { lr: 1 } },
    ],
  ])('finds a config %s', async (_case, files) => {
    const { configs } = setUp(files);
    expect(await load(configs, 'lora')).toEqual({
      ok: true,
      value: { config: { lr: 1 }, dataloader: null, files: {} },
    });
  });

  test.each([
    'größe',
    '火車',
    'мой конфиг',
    'e\u0301tude',
    'a.b-c_d',
    '_x',
    '7',
    'console',
    'com',
    'x'.repeat(128),
    'flux.peft-lora+TREAD',
    'mine (2)',
    '-lora',
    'nul',
    'a/b/c',
  ])('loads a config named %j', async name => {
    const { configs } = setUp({ [`${name}.json`]: { lr: 1 } });
    expect((await load(configs, name)).ok).toBe(true);
  });

  test('loads a config through a symbolic link inside the configs folder or to that folder', async () => {
    const { root, configs } = setUp({ 'lora.json': { lr: 1 } });
    symlinkSync(join(configs, 'lora.json'), join(configs, 'alias.json'));
    symlinkSync(configs, join(root, 'elsewhere'));
    expect((await load(configs, 'alias')).ok).toBe(true);
    expect((await load(join(root, 'elsewhere'), 'lora')).ok).toBe(true);
  });

  test('returns the current content of a config after it changed', async () => {
    const { configs } = setUp({ 'lora.json': { lr: 1 } });
    const files = createConfigFiles(configs);
    await files.load('lora');
    write(configs, { 'lora.json': { lr: 2 } });
    expect(await files.load('lora')).toMatchObject({ value: { config: { lr: 2 } } });
    rmSync(join(configs, 'lora.json'));
    expect(refusalOf(await files.load('lora')).code).toBe('config_not_found');
  });
});

describe('validating a config name', () => {
  test.each([
    ['an empty name', ''],
    ['a name that leads to the parent folder', '../secret'],
    ['the name of the parent folder', '..'],
    ['the name of the folder itself', '.'],
    ['an absolute path', '/etc/passwd'],
    ['a path with an empty part', 'private//config'],
    ['a path with ".." in it', 'private/../lora'],
    ['a path deeper than the limit', 'a/b/c/d/e/f/g/h/i'],
    ['a path with backslashes', 'private\\config'],
    ['a parent path with backslashes', '..\\secret'],
    ['a name with a NUL character', 'lora\0'],
    ['a name of two lines', 'lo\nra'],
    ['a hidden name', '.lora'],
    ['a name with a text direction override', 'lo\u202era'],
    ['a name of 300 characters', 'x'.repeat(300)],
  ])('refuses %s as a config name', async (_case, name) => {
    const { configs } = setUp({ 'lora.json': { lr: 1 } });
    expect(refusalOf(await load(configs, name)).code).toBe('invalid_request');
  });
});

describe('a config name without a file', () => {
  test.each(['%2e%2e/secret', 'private/config', 'C:x', 'lo*', 'lora.', 'lora '])(
    'returns config_not_found for the name %j',
    async name => {
      const { configs } = setUp({ 'lora.json': { lr: 1 } });
      expect(refusalOf(await load(configs, name)).code).toBe('config_not_found');
    },
  );
});

describe('a config that does not exist', () => {
  test.each([
    ['no file has the name', {}],
    ['only similar file names exist', { 'lora2.json': {}, 'lora.txt': {} }],
    ['the folder with the name has no config', { 'lora/other.json': {} }],
  ])('returns config_not_found when %s', async (_case, files) => {
    const { configs } = setUp(files);
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_not_found');
    expect(outcome).toMatchObject({ refusal: { detail: expect.stringContaining('lora.json') } });
    expect(JSON.stringify(outcome)).not.toContain(configs);
  });

  test('returns config_not_found when the configs folder does not exist', async () => {
    expect(refusalOf(await load(join(openFolder(), 'none'), 'lora')).code).toBe('config_not_found');
  });

  test.each<[string, (root: string, configs: string) => void]>([
    ['a file outside', (root, configs) => symlinkSync(join(root, 'secret.json'), join(configs, 'lora.json'))],
    ['a folder outside', (root, configs) => symlinkSync(join(root, 'private'), join(configs, 'lora'))],
    [
      'a neighbour folder with the same prefix',
      (root, configs) => {
        write(root, { 'configs-old/lora.json': { secret: true } });
        symlinkSync(join(root, 'configs-old/lora.json'), join(configs, 'lora.json'));
      },
    ],
    ['itself', (_root, configs) => symlinkSync(join(configs, 'lora.json'), join(configs, 'lora.json'))],
  ])('returns config_not_found when the config is a link to %s', async (_case, link) => {
    const { root, configs } = setUp({});
    link(root, configs);
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_not_found');
  });

  test('loads the config in its own folder when a link of the same name leads out of the configs folder', async () => {
    const { root, configs } = setUp({ 'lora/config.json': { lr: 1 } });
    symlinkSync(join(root, 'secret.json'), join(configs, 'lora.json'));
    expect(await load(configs, 'lora')).toMatchObject({ value: { config: { lr: 1 } } });
  });
});

describe('a config with invalid content', () => {
  test.each([
    [
      'not JSON',
      '{\n  "lr": 1,\n}',
      'is not valid JSON: line 3, column 1: expected double-quoted property name',
    ],
    ['empty', '', 'is not valid JSON: line 1, column 1: the file ends in the middle of the JSON'],
    ['an array', [1], 'must be an object with keys and values'],
    ['null', 'null', 'must be an object with keys and values'],
    ['a string', '"lr"', 'must be an object with keys and values'],
    ['too large', `{"lr": "${'x'.repeat(1_000_000)}"}`, 'is larger than 1000000 characters'],
  ])('refuses a config that is %s', async (_case, content, detail) => {
    const { configs } = setUp({ 'lora.json': content });
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_invalid');
    expect(outcome).toMatchObject({ refusal: { detail: `The config lora ${detail}` } });
  });

  test('does not fall back to the folder config when the file config is invalid', async () => {
    const { configs } = setUp({ 'lora.json': 'no', 'lora/config.json': {} });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });
});

describe('the dataloader of a config', () => {
  const dataloader = [{ id: 'images', type: 'local' }];

  test.each<[string, Files]>([
    ['next to the config', { 'lora.json': { data_backend_config: 'data.json' }, 'data.json': dataloader }],
    [
      'named with leading dashes',
      { 'lora.json': { '--data_backend_config': 'data.json' }, 'data.json': dataloader },
    ],
    [
      'in the folder of the config',
      {
        'lora/config.json': { data_backend_config: 'data.json' },
        'lora/data.json': dataloader,
        'data.json': [],
      },
    ],
    [
      'named by a path of another machine',
      { 'lora.json': { data_backend_config: '/home/ada/config/data.json' }, 'data.json': dataloader },
    ],
    [
      'named by a Windows path',
      { 'lora.json': { data_backend_config: 'C:\\config\\data.json' }, 'data.json': dataloader },
    ],
    [
      'named by a parent path',
      { 'lora.json': { data_backend_config: '../data.json' }, 'data.json': dataloader },
    ],
  ])('loads a dataloader %s', async (_case, files) => {
    const { configs } = setUp(files);
    expect(await load(configs, 'lora')).toMatchObject({ ok: true, value: { dataloader } });
  });

  test('returns no dataloader when the config names none', async () => {
    const { configs } = setUp({ 'lora.json': { data_backend_config: null }, 'data.json': dataloader });
    expect(await load(configs, 'lora')).toMatchObject({ ok: true, value: { dataloader: null } });
  });

  test.each<[string, Files]>([
    ['does not exist', {}],
    ['exists in two folders', { 'other/data.json': dataloader, 'third/data.json': dataloader }],
    ['is not JSON', { 'data.json': 'no' }],
    ['is too large', { 'data.json': `["${'x'.repeat(1_000_000)}"]` }],
  ])('refuses a config whose dataloader %s', async (_case, files) => {
    const { configs } = setUp({ ...files, 'lora.json': { data_backend_config: 'data.json' } });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });

  test.each(['..', '.', '/', '.env', 'a\0b'])('refuses a dataloader named %j', async name => {
    const { configs } = setUp({ 'lora.json': { data_backend_config: name }, '.env': {} });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });

  test('refuses a dataloader that is a link out of the configs folder', async () => {
    const { root, configs } = setUp({ 'lora.json': { data_backend_config: 'data.json' } });
    symlinkSync(join(root, 'secret.json'), join(configs, 'data.json'));
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_invalid');
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });
});

/**
 * A copy of SimpleTuner's examples folder. Paths in its configs are relative to the working folder of the trainer,
 * not to this folder.
 */
const examples: Files = {
  'flux.peft-lora+TREAD/config.json': {
    model_family: 'flux',
    data_backend_config: 'config/examples/multidatabackend-small-512px.json',
    lycoris_config: 'config/examples/flux.peft-lora+TREAD/lycoris_config.json',
    user_prompt_library: 'config/examples/prompts.json',
  },
  'flux.peft-lora+TREAD/lycoris_config.json': { algo: 'lokr', multiplier: 1.0 },
  'multidatabackend-small-512px.json': [{ id: 'dog', type: 'local', instance_data_dir: 'datasets/dog' }],
  'prompts.json': { portrait: 'a photo of a dog' },
  'lycoris_config.json': { algo: 'lokr', apply_preset: {} },
  'groups/video/wan 2.2.yaml': 'model_family: wan\nnum_processes: 8\n',
  'kohya/sdxl.toml':
    'pretrained_model_name_or_path = "x"\nnetwork_module = "networks.lora"\nscript = "sdxl_train_network.py"\n',
  'kohya/notes.json': { made: 'yesterday' },
  'README.md': '# Examples',
};

describe("a configs folder in a trainer's own layout", () => {
  test('lists every config by its path, without companion files', async () => {
    const { configs } = setUp(examples);
    const { entries } = await createConfigFiles(configs).list({ text: '', after: null, limit: 100 });
    expect(entries.map(({ name, trainer, bundle }) => [name, trainer, bundle.ok])).toEqual([
      ['flux.peft-lora+TREAD', 'simpletuner', true],
      ['groups/video/wan 2.2', 'simpletuner', true],
      ['kohya/sdxl', 'kohya', true],
    ]);
  });

  test('loads a config with its companion files from anywhere below the configs folder', async () => {
    const { configs } = setUp(examples);
    expect(await load(configs, 'flux.peft-lora+TREAD')).toEqual({
      ok: true,
      value: {
        config: examples['flux.peft-lora+TREAD/config.json'],
        dataloader: examples['multidatabackend-small-512px.json'],
        files: {
          'config/examples/flux.peft-lora+TREAD/lycoris_config.json': '{"algo":"lokr","multiplier":1}',
          'config/examples/prompts.json': '{"portrait":"a photo of a dog"}',
        },
      },
    });
  });

  test('reports the position of a syntax error and the name of a missing file', async () => {
    const { configs } = setUp({
      'tab.yaml': 'job: extension\nconfig:\n\tname: x',
      'twice.toml': 'lr = 1\nlr = 2',
      'gone.json': { model_family: 'flux', data_backend_config: 'config/none.json' },
    });
    const { entries } = await createConfigFiles(configs).list({ text: '', after: null, limit: 100 });
    expect(entries.map(({ name, bundle }) => [name, bundle.ok ? '' : bundle.refusal.detail])).toEqual([
      [
        'gone',
        'The config names config/none.json (data_backend_config), but no file none.json lies beside the config or anywhere else in the configs folder',
      ],
      ['tab', 'The config tab is not valid YAML: line 3, column 1: a tab cannot indent YAML: use spaces'],
      [
        'twice',
        'The config twice is not valid TOML: line 2, column 1: trying to redefine an already defined table or value',
      ],
    ]);
  });

  test('lists each config once when links form a cycle', async () => {
    const { configs } = setUp({ 'a/lora/config.json': { model_family: 'flux' } });
    symlinkSync(configs, join(configs, 'a/again'));
    symlinkSync(join(configs, 'a'), join(configs, 'other'));
    const { entries } = await createConfigFiles(configs).list({ text: '', after: null, limit: 100 });
    expect(entries.map(({ name }) => name)).toEqual(['a/lora']);
  });
});
