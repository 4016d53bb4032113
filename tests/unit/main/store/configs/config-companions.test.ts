/** Tests how a config is written together with its companion files. See docs/internals/faults.md, S8. */
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ConfigChange, ExpectedConfig } from '../../../../../main/orchestrator/ports/index.ts';
import { pathsBelow, textsBelow } from '../../../../support/files-below.ts';
import { openFolder } from '../../../../support/fleet-bench.ts';
import { refusalOf } from '../../../../support/fleet-outcome.ts';
import { createConfigFiles } from '../../../../../main/store/configs/config-files.ts';

type Texts = Readonly<Record<string, string>>;

const dataloader = 'config/sets/data.json';
const lycoris = 'config\\lycoris.json';
const simpleTuner = { model_family: 'flux', data_backend_config: dataloader, lycoris_config: lycoris };
const files: Texts = { [dataloader]: '[{"id": "a"}]\n', [lycoris]: '{"algo": "lokr"}' };

/** Creates a configs folder beside files that must stay unreachable, and records the changes that are announced. */
function setUp(existing: Texts = {}) {
  const root = openFolder();
  const folder = join(root, 'configs');
  mkdirSync(folder);
  const all = { ...existing, '../secret.json': '{}', '../private/config.json': '{}' };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const configs = createConfigFiles(folder);
  const announced: ConfigChange[] = [];
  const record = (change: ConfigChange): Promise<void> => {
    announced.push(change);
    return Promise.resolve();
  };
  return {
    root,
    folder,
    configs,
    announced,
    putWith: (name: string, companions: Texts, expected: ExpectedConfig = 'anything') =>
      configs.put({ name, config: simpleTuner, files: companions, expected }, record),
    tagOf: async (name: string): Promise<string> => {
      const config = await configs.find(name);
      return config.ok ? String(config.value.tag) : '';
    },
    read: (file: string): string => readFileSync(join(folder, file), 'utf8'),
  };
}

const snapshot = (folder: string) => [pathsBelow(folder), [...textsBelow(folder)]];

describe('writing a config with companion files', () => {
  test('writes a config and its companion files into one folder', async () => {
    const { putWith, read, folder, configs, announced } = setUp();
    expect(await putWith('lora', files)).toMatchObject({
      value: { what: 'created', name: 'lora', file: 'lora/config.json' },
    });
    expect(announced).toHaveLength(1);
    expect(readdirSync(join(folder, 'lora')).toSorted()).toEqual([
      'config.json',
      'data.json',
      'lycoris.json',
    ]);
    expect(read('lora/data.json')).toBe(files[dataloader]);
    expect(statSync(join(folder, 'lora/data.json')).mode & 0o777).toBe(0o600);
    expect(await configs.load('lora')).toMatchObject({ ok: true, value: { dataloader: [{ id: 'a' }] } });
    const { entries } = await configs.list({ text: '', after: null, limit: 10 });
    expect(entries.map(({ name }) => name)).toEqual(['lora']);
  });

  test('replaces an existing config and the given companion files, and keeps the other files', async () => {
    const { putWith, read, folder, tagOf } = setUp();
    await putWith('lora', files);
    expect(refusalOf(await putWith('lora', files, 'nothing')).code).toBe('config_exists');
    const changed = { [dataloader]: '[]' };
    expect(await putWith('lora', changed, [await tagOf('lora')])).toMatchObject({
      value: { what: 'replaced' },
    });
    expect([read('lora/data.json'), read('lora/lycoris.json')]).toEqual(['[]', files[lycoris]]);
    expect(readdirSync(folder)).toEqual(['lora']);
  });

  test.each<readonly [description: string, companions: Texts, existing: Texts, code: string]>([
    ['a companion file that the config does not name', { 'other.json': '{}' }, {}, 'config_invalid'],
    ['a config folder when a config file has its name', files, { 'lora.json': '{}' }, 'config_in_the_way'],
    ['a config folder when a plain file has its name', files, { lora: '' }, 'config_in_the_way'],
    ['a config whose name exists in another case', files, { 'LORA/config.json': '{}' }, 'config_in_the_way'],
    ['a companion file when a folder has its name', files, { 'lora/data.json/x': '' }, 'config_in_the_way'],
  ])('refuses to write %s', async (_case, companions, existing, code) => {
    const { root, putWith, announced } = setUp(existing);
    const before = snapshot(root);
    expect(refusalOf(await putWith('lora', companions)).code).toBe(code);
    expect([snapshot(root), announced]).toEqual([before, []]);
  });

  test('refuses to write a config through a symbolic link', async () => {
    const { root, folder, putWith } = setUp({ 'one/x': '' });
    symlinkSync(join(root, 'private'), join(folder, 'linked'));
    symlinkSync(join(root, 'secret.json'), join(folder, 'one/data.json'));
    const before = snapshot(root);
    for (const name of ['linked', 'one'])
      expect(refusalOf(await putWith(name, files)).code).toBe('config_in_the_way');
    expect(snapshot(root)).toEqual(before);
  });

  test.each(['config.json', '.hidden.json', '..', 'a\u202eb.json'])(
    'refuses a companion file named %j',
    async path => {
      const { configs, folder } = setUp();
      const config = { model_family: 'flux', data_backend_config: path };
      const request = { name: 'lora', config, files: { [path]: '[]' }, expected: 'anything' } as const;
      expect(refusalOf(await configs.put(request, () => Promise.resolve())).code).toBe('config_invalid');
      expect(readdirSync(folder)).toEqual([]);
    },
  );

  test('refuses two different companion files with the same name', async () => {
    const { configs, folder } = setUp();
    const config = { model_family: 'flux', data_backend_config: 'a/x.json', lycoris_config: 'b/X.json' };
    const putWithSecondFile = (second: string) =>
      configs.put(
        { name: 'lora', config, files: { 'a/x.json': '[]', 'b/X.json': second }, expected: 'anything' },
        () => Promise.resolve(),
      );
    expect(await putWithSecondFile('{}')).toMatchObject({
      refusal: { code: 'config_invalid', detail: expect.stringContaining('two files called X.json') },
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  test('writes no config when the change cannot be recorded', async () => {
    const { configs, folder } = setUp();
    const request = { name: 'lora', config: simpleTuner, files, expected: 'anything' } as const;
    await expect(configs.put(request, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room');
    expect(readdirSync(folder)).toEqual([]);
    expect((await configs.put(request, () => Promise.resolve())).ok).toBe(true);
  });
});
