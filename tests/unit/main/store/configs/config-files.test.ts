/**
 * The configs folder, and what must not be readable through it: docs/internals/faults.md, S8;
 * docs/internals/worker-contract.md, section 1.
 */
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createConfigFiles } from '../../../../../main/store/configs/config-files.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../support/fleet-outcome.ts';

/** Text as it is, anything else as JSON. */
type Files = Readonly<Record<string, unknown>>;

function write(folder: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  }
}

/** A folder of configs beside files that are not to be had. */
function setUp(files: Files): { readonly root: string; readonly configs: string } {
  const root = openFolder();
  const configs = join(root, 'configs');
  mkdirSync(configs);
  write(configs, files);
  write(root, { 'secret.json': { secret: true }, 'private/config.json': { secret: true } });
  return { root, configs };
}

const load = (configs: string, name: string) => createConfigFiles(configs).load(name);

describe('a config is found', () => {
  test.each<[string, Files]>([
    ['beside the others', { 'lora.json': { lr: 1 } }],
    ['in a folder of its own', { 'lora/config.json': { lr: 1 } }],
    ['beside the others first', { 'lora.json': { lr: 1 }, 'lora/config.json': { lr: 2 } }],
    [
      'in a folder of its own when a folder is in the way',
      { 'lora.json/x': '', 'lora/config.json': { lr: 1 } },
    ],
  ])('%s', async (_what, files) => {
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
  ])('by the name %j', async name => {
    const { configs } = setUp({ [`${name}.json`]: { lr: 1 } });
    expect((await load(configs, name)).ok).toBe(true);
  });

  test('through a link that stays inside, and through one to the whole folder', async () => {
    const { root, configs } = setUp({ 'lora.json': { lr: 1 } });
    symlinkSync(join(configs, 'lora.json'), join(configs, 'alias.json'));
    symlinkSync(configs, join(root, 'elsewhere'));
    expect((await load(configs, 'alias')).ok).toBe(true);
    expect((await load(join(root, 'elsewhere'), 'lora')).ok).toBe(true);
  });

  test('as it is now, not as it was', async () => {
    const { configs } = setUp({ 'lora.json': { lr: 1 } });
    const files = createConfigFiles(configs);
    await files.load('lora');
    write(configs, { 'lora.json': { lr: 2 } });
    expect(await files.load('lora')).toMatchObject({ value: { config: { lr: 2 } } });
    rmSync(join(configs, 'lora.json'));
    expect(refusalOf(await files.load('lora')).code).toBe('config_not_found');
  });
});

describe('a name is refused that is', () => {
  test.each([
    ['empty', ''],
    ['a way up', '../secret'],
    ['a way up, alone', '..'],
    ['the folder itself', '.'],
    ['absolute', '/etc/passwd'],
    ['a path with an empty part', 'private//config'],
    ['a path with a way up in it', 'private/../lora'],
    ['deeper than configs may lie', 'a/b/c/d/e/f/g/h/i'],
    ['a path in the other direction', 'private\\config'],
    ['a way up in the other direction', '..\\secret'],
    ['cut short by NUL', 'lora\0'],
    ['of two lines', 'lo\nra'],
    ['hidden', '.lora'],
    ['turned around', 'lo\u202era'],
    ['300 characters long', 'x'.repeat(300)],
  ])('%s', async (_what, name) => {
    const { configs } = setUp({ 'lora.json': { lr: 1 } });
    expect(refusalOf(await load(configs, name)).code).toBe('invalid_request');
  });
});

describe('a name that leads nowhere is not found', () => {
  test.each(['%2e%2e/secret', 'private/config', 'C:x', 'lo*', 'lora.', 'lora '])('%j', async name => {
    const { configs } = setUp({ 'lora.json': { lr: 1 } });
    expect(refusalOf(await load(configs, name)).code).toBe('config_not_found');
  });
});

describe('a config is not there', () => {
  test.each([
    ['when no file has its name', {}],
    ['when only another one has', { 'lora2.json': {}, 'lora.txt': {} }],
    ['when its folder is empty', { 'lora/other.json': {} }],
  ])('%s', async (_what, files) => {
    const { configs } = setUp(files);
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_not_found');
    expect(outcome).toMatchObject({ refusal: { detail: expect.stringContaining('lora.json') } });
    expect(JSON.stringify(outcome)).not.toContain(configs);
  });

  test('when there is no folder of configs', async () => {
    expect(refusalOf(await load(join(openFolder(), 'none'), 'lora')).code).toBe('config_not_found');
  });

  test.each<[string, (root: string, configs: string) => void]>([
    ['file', (root, configs) => symlinkSync(join(root, 'secret.json'), join(configs, 'lora.json'))],
    ['folder', (root, configs) => symlinkSync(join(root, 'private'), join(configs, 'lora'))],
    [
      'neighbour whose name begins like it',
      (root, configs) => {
        write(root, { 'configs-old/lora.json': { secret: true } });
        symlinkSync(join(root, 'configs-old/lora.json'), join(configs, 'lora.json'));
      },
    ],
    [
      'link to itself',
      (_root, configs) => symlinkSync(join(configs, 'lora.json'), join(configs, 'lora.json')),
    ],
  ])('when a link leads out of the folder: to a %s', async (_what, link) => {
    const { root, configs } = setUp({});
    link(root, configs);
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_not_found');
  });

  test('a link that leads out does not hide the folder of the same name', async () => {
    const { root, configs } = setUp({ 'lora/config.json': { lr: 1 } });
    symlinkSync(join(root, 'secret.json'), join(configs, 'lora.json'));
    expect(await load(configs, 'lora')).toMatchObject({ value: { config: { lr: 1 } } });
  });
});

describe('a config can not be used', () => {
  test.each([
    [
      'no JSON',
      '{\n  "lr": 1,\n}',
      'is not valid JSON: line 3, column 1: expected double-quoted property name',
    ],
    ['empty', '', 'is not valid JSON: line 1, column 1: the file ends in the middle of the JSON'],
    ['an array', [1], 'must be an object with keys and values'],
    ['null', 'null', 'must be an object with keys and values'],
    ['a string', '"lr"', 'must be an object with keys and values'],
    ['too large', `{"lr": "${'x'.repeat(1_000_000)}"}`, 'is larger than 1000000 characters'],
  ])('that is %s', async (_what, content, detail) => {
    const { configs } = setUp({ 'lora.json': content });
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_invalid');
    expect(outcome).toMatchObject({ refusal: { detail: `The config lora ${detail}` } });
  });

  test('and another one of the same name does not stand in for it', async () => {
    const { configs } = setUp({ 'lora.json': 'no', 'lora/config.json': {} });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });
});

describe('the dataloader', () => {
  const dataloader = [{ id: 'images', type: 'local' }];

  test.each<[string, Files]>([
    ['beside a config', { 'lora.json': { data_backend_config: 'data.json' }, 'data.json': dataloader }],
    [
      'in the other spelling',
      { 'lora.json': { '--data_backend_config': 'data.json' }, 'data.json': dataloader },
    ],
    [
      'in the config’s own folder',
      {
        'lora/config.json': { data_backend_config: 'data.json' },
        'lora/data.json': dataloader,
        'data.json': [],
      },
    ],
    [
      'named by a path of its writer’s machine',
      { 'lora.json': { data_backend_config: '/home/ada/config/data.json' }, 'data.json': dataloader },
    ],
    [
      'named by a path of Windows',
      { 'lora.json': { data_backend_config: 'C:\\config\\data.json' }, 'data.json': dataloader },
    ],
    ['named by a way up', { 'lora.json': { data_backend_config: '../data.json' }, 'data.json': dataloader }],
  ])('%s comes with it', async (_what, files) => {
    const { configs } = setUp(files);
    expect(await load(configs, 'lora')).toMatchObject({ ok: true, value: { dataloader } });
  });

  test('that no config names is not looked for', async () => {
    const { configs } = setUp({ 'lora.json': { data_backend_config: null }, 'data.json': dataloader });
    expect(await load(configs, 'lora')).toMatchObject({ ok: true, value: { dataloader: null } });
  });

  test.each<[string, Files]>([
    ['is not there', {}],
    ['lies in two places', { 'other/data.json': dataloader, 'third/data.json': dataloader }],
    ['is no JSON', { 'data.json': 'no' }],
    ['is too large', { 'data.json': `["${'x'.repeat(1_000_000)}"]` }],
  ])('that %s makes the config unusable', async (_what, files) => {
    const { configs } = setUp({ ...files, 'lora.json': { data_backend_config: 'data.json' } });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });

  test.each(['..', '.', '/', '.env', 'a\0b'])('is not looked for by the name %j', async name => {
    const { configs } = setUp({ 'lora.json': { data_backend_config: name }, '.env': {} });
    expect(refusalOf(await load(configs, 'lora')).code).toBe('config_invalid');
  });

  test('behind a link that leads out is not read', async () => {
    const { root, configs } = setUp({ 'lora.json': { data_backend_config: 'data.json' } });
    symlinkSync(join(root, 'secret.json'), join(configs, 'data.json'));
    const outcome = await load(configs, 'lora');
    expect(refusalOf(outcome).code).toBe('config_invalid');
    expect(JSON.stringify(outcome)).not.toContain('secret');
  });
});

/** As in SimpleTuner's own folder of examples: paths begin at the folder that its trainer starts in, which is another one. */
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

describe('a folder as its trainer has it', () => {
  test('lists every config below it by its path, and nothing that configs only name', async () => {
    const { configs } = setUp(examples);
    const { entries } = await createConfigFiles(configs).list({ text: '', after: null, limit: 100 });
    expect(entries.map(({ name, trainer, bundle }) => [name, trainer, bundle.ok])).toEqual([
      ['flux.peft-lora+TREAD', 'simpletuner', true],
      ['groups/video/wan 2.2', 'simpletuner', true],
      ['kohya/sdxl', 'kohya', true],
    ]);
  });

  test('gives each config with the files that it names, wherever below the folder they lie', async () => {
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

  test('says where a config is broken, and what a missing file is named', async () => {
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

  test('is read once, although links in it lead in circles', async () => {
    const { configs } = setUp({ 'a/lora/config.json': { model_family: 'flux' } });
    symlinkSync(configs, join(configs, 'a/again'));
    symlinkSync(join(configs, 'a'), join(configs, 'other'));
    const { entries } = await createConfigFiles(configs).list({ text: '', after: null, limit: 100 });
    expect(entries.map(({ name }) => name)).toEqual(['a/lora']);
  });
});
