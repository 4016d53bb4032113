import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, onTestFinished, vi } from 'vitest';
import { CommandEnd } from '../../../../main/cli/failure.ts';
import {
  addLabel,
  decimal,
  timeSpan,
  wholeNumber,
  wordList,
  wordsAmong,
} from '../../../../main/cli/flags.ts';
import { readConfigArgument } from '../../../../main/cli/jobs/config-argument.ts';
import { priorityOf } from '../../../../main/cli/jobs/change.ts';
import { addChange } from '../../../../main/cli/workers/change.ts';
import { temporaryFolder } from '../../../support/processes.ts';

describe('timeSpan', () => {
  test.each([
    ['90', 90],
    ['90s', 90],
    ['1.5h', 5_400],
    ['30m', 1_800],
    ['2d', 172_800],
  ])('reads %s as a number of seconds', (text, seconds) => {
    expect(timeSpan(text)).toBe(seconds);
  });

  test.each(['', 'h', '-1', '1w', '1e9', '1h30m', ' 5'])('refuses "%s" as a time span', text => {
    expect(() => timeSpan(text)).toThrow('90s, 30m, 12h or 2d');
  });
});

describe('wholeNumber and decimal', () => {
  test('reads whole and decimal numbers', () => {
    expect([wholeNumber('0'), wholeNumber('12'), decimal('23.5')]).toEqual([0, 12, 23.5]);
  });

  test.each(['', '-1', '1.5', '0x10', '1e3', ' 1', 'NaN'])('refuses "%s" as a whole number', text => {
    expect(() => wholeNumber(text)).toThrow('whole number');
  });
});

describe('addLabel', () => {
  test('collects labels and splits each label at the first =', () => {
    expect(addLabel('team=', addLabel('gpu=a100=*'))).toEqual({ gpu: 'a100=*', team: '' });
  });

  test('keeps a label named __proto__ so that validation can refuse it', () => {
    expect(Object.keys(addLabel('__proto__=x'))).toEqual(['__proto__']);
  });

  test.each(['gpu', '=a100', ''])('refuses "%s" as a label', text => {
    expect(() => addLabel(text)).toThrow('KEY=VALUE');
  });
});

describe('addChange', () => {
  const collectChanges = (...values: readonly string[]) => {
    let changes: ReturnType<typeof addChange> | undefined;
    for (const value of values) changes = addChange(value, changes);
    return changes;
  };

  test('collects labels to set and to remove', () => {
    expect(collectChanges('gpu=a100', 'rack-', 'team=', 'zone-')).toEqual({
      set: { gpu: 'a100', team: '' },
      removed: ['rack', 'zone'],
    });
  });

  test('sets a label when the argument contains =, even if the value ends with a dash', () => {
    expect(collectChanges('a=b-', 'c-=d', 'e--')).toEqual({ set: { a: 'b-', 'c-': 'd' }, removed: ['e-'] });
  });

  test.each(['gpu', '', '-', '=a', '=-'])('refuses "%s" as a label change', value => {
    expect(() => collectChanges(value)).toThrow('KEY=VALUE to set a label, or KEY-');
  });

  test.each([
    ['a=b', 'a-'],
    ['a-', 'a=b'],
  ])('refuses to set and remove the same label: %s %s', (...values) => {
    expect(() => collectChanges(...values)).toThrow('set and removed at once: a');
  });
});

test('accepts only known words in a comma-separated list', () => {
  const read = wordsAmong('fruit', ['apple', 'pear']);
  expect(read('pear, apple')).toEqual(['pear', 'apple']);
  expect(() => read('pear,plum')).toThrow('Unknown fruit "plum". Known: apple, pear');
});

test.each([
  ['low', 0],
  ['CRITICAL', 40],
  ['0', 0],
  ['50', 50],
])('reads the priority %s as %d', (text, priority) => {
  expect(priorityOf(text)).toBe(priority);
});

test.each(['51', '-1', '1.5', '', 'asap', '007'])('refuses "%s" as a priority', text => {
  expect(() => priorityOf(text)).toThrow('0 to 50, or one of low, normal');
});

test('refuses a comma-separated list with empty entries', () => {
  expect(wordList('a, b')).toEqual(['a', 'b']);
  expect(() => wordList('a,,b')).toThrow('separated by commas');
});

describe('readConfigArgument', () => {
  const writeConfig = (name: string, text: string): string => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, text);
    return path;
  };

  test.each(['digits', 'my config', 'v1.5', 'a.jsonl', 'flux/kontext', 'flux.peft-lora+TREAD'])(
    'reads %s as the name of a stored config',
    async name => {
      expect(await readConfigArgument(name, { stdin: null })).toEqual({ config_name: name });
    },
  );

  test('reads a config file by its path, and names the config after the file', async () => {
    const path = writeConfig('lora.json', '\ufeff{"steps": 3}');
    expect(await readConfigArgument(path, { stdin: null })).toEqual({
      config_name: 'lora',
      config: { steps: 3 },
    });
  });

  test('names a config.json after its folder', async () => {
    const path = writeConfig('config.json', '{}');
    const folder = path.split('/').at(-2);
    expect(await readConfigArgument(path, { stdin: null })).toMatchObject({ config_name: folder });
  });

  test('reads YAML and TOML files by their extension', async () => {
    const yaml = await readConfigArgument(writeConfig('a.yaml', 'job: extension\nconfig:\n  name: dog\n'), {
      stdin: null,
    });
    expect(yaml).toEqual({ config_name: 'a', config: { job: 'extension', config: { name: 'dog' } } });
    const toml = await readConfigArgument(writeConfig('b.toml', 'lr = 1e-4\n'), { stdin: null });
    expect(toml).toEqual({ config_name: 'b', config: { lr: 0.0001 } });
  });

  /** Creates a project in SimpleTuner's layout: paths in a config are relative to the project folder, above `config/`. */
  function createProject(files: Readonly<Record<string, string>>): string {
    const root = temporaryFolder();
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    return root;
  }
  const simpleTunerConfig = JSON.stringify({
    model_family: 'flux',
    data_backend_config: 'config/multidatabackend.json',
    lycoris_config: 'config/lycoris_config.json',
  });

  test('includes the dataloader and other files that the config names', async () => {
    const root = createProject({
      'config/lora/config.json': simpleTunerConfig,
      'config/multidatabackend.json': '[{"id": "images"}]',
      'config/lycoris_config.json': '{"algo": "lokr"}',
    });
    expect(await readConfigArgument(join(root, 'config/lora/config.json'), { stdin: null })).toEqual({
      config_name: 'lora',
      config: JSON.parse(simpleTunerConfig),
      dataloader: [{ id: 'images' }],
      files: { 'config/lycoris_config.json': '{"algo": "lokr"}' },
    });
  });

  test('reads the config "-" from standard input, and its files relative to the current folder', async () => {
    const stdin = () => Promise.resolve('model_family: flux\ndata_backend_config: data.json\n');
    const root = createProject({ 'data.json': '[{"id": "images"}]' });
    vi.spyOn(process, 'cwd').mockReturnValue(root);
    onTestFinished(() => void vi.restoreAllMocks());
    expect(await readConfigArgument('-', { stdin })).toEqual({
      config_name: 'stdin',
      config: { model_family: 'flux', data_backend_config: 'data.json' },
      dataloader: [{ id: 'images' }],
    });
  });

  test.each([
    [
      'is missing',
      { 'config/lora.json': simpleTunerConfig },
      /lora\.json names config\/multidatabackend\.json \(data_backend_config\), but the file is not in the current folder/,
    ],
    [
      'is not JSON',
      { 'config/lora.json': simpleTunerConfig, 'config/multidatabackend.json': '[\n  {,}\n]' },
      /names config\/multidatabackend\.json \(data_backend_config\), which is not valid: line 2, column 4: /,
    ],
  ])('names the referenced file in the error when that file %s', async (_case, files, message) => {
    await expectFailure(join(createProject(files), 'config/lora.json'), message);
  });

  test.each([
    ['does not exist', '/nowhere/x.json', /cannot be read: ENOENT.*name of a config/],
    ['is a folder', '/', /cannot be read: EISDIR/],
    ['is not JSON', writeConfig('x.json', '{"a": '), /x\.json is not valid JSON: line 1, column 7: /],
    [
      'has a tab in YAML',
      writeConfig('x.yaml', 'a:\n\tb: 1'),
      /x\.yaml is not valid YAML: line 2, column 1: a tab/,
    ],
    [
      'repeats a key in TOML',
      writeConfig('x.toml', 'a = 1\na = 2'),
      /x\.toml is not valid TOML: line 2, column 1: /,
    ],
    ['is a list', writeConfig('y.json', '[1]'), /y\.json is not an object/],
    ['is a text', writeConfig('z.json', '"steps"'), /z\.json is not an object/],
  ])('fails with a usage error for a config that %s', async (_case, path, message) => {
    await expectFailure(path, message);
  });

  async function expectFailure(path: string, message: RegExp): Promise<void> {
    const failure = await readConfigArgument(path, { stdin: null }).catch((cause: unknown) => cause);
    expect(failure).toBeInstanceOf(CommandEnd);
    expect((failure as CommandEnd).failure).toEqual({ code: 2, message: expect.stringMatching(message) });
  }
});
