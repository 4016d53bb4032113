import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
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

describe('a time', () => {
  test.each([
    ['90', 90],
    ['90s', 90],
    ['1.5h', 5_400],
    ['30m', 1_800],
    ['2d', 172_800],
  ])('%s', (text, seconds) => {
    expect(timeSpan(text)).toBe(seconds);
  });

  test.each(['', 'h', '-1', '1w', '1e9', '1h30m', ' 5'])('not "%s"', text => {
    expect(() => timeSpan(text)).toThrow('90s, 30m, 12h or 2d');
  });
});

describe('numbers', () => {
  test('are whole, or not', () => {
    expect([wholeNumber('0'), wholeNumber('12'), decimal('23.5')]).toEqual([0, 12, 23.5]);
  });

  test.each(['', '-1', '1.5', '0x10', '1e3', ' 1', 'NaN'])('not "%s"', text => {
    expect(() => wholeNumber(text)).toThrow('whole number');
  });
});

describe('labels', () => {
  test('gather; what stands behind the first = is the value', () => {
    expect(addLabel('team=', addLabel('gpu=a100=*'))).toEqual({ gpu: 'a100=*', team: '' });
  });

  test('keep a name that JavaScript has plans for, so that it is refused and not lost', () => {
    expect(Object.keys(addLabel('__proto__=x'))).toEqual(['__proto__']);
  });

  test.each(['gpu', '=a100', ''])('are not "%s"', text => {
    expect(() => addLabel(text)).toThrow('KEY=VALUE');
  });
});

describe('changes of labels', () => {
  const changes = (...words: readonly string[]) =>
    words.reduce<ReturnType<typeof addChange> | undefined>(
      (before, word) => addChange(word, before),
      undefined,
    );

  test('gather', () => {
    expect(changes('gpu=a100', 'rack-', 'team=', 'zone-')).toEqual({
      set: { gpu: 'a100', team: '' },
      removed: ['rack', 'zone'],
    });
  });

  test('are told by the = first: values may end with a dash, and names, too', () => {
    expect(changes('a=b-', 'c-=d', 'e--')).toEqual({ set: { a: 'b-', 'c-': 'd' }, removed: ['e-'] });
  });

  test.each(['gpu', '', '-', '=a', '=-'])('are not "%s"', word => {
    expect(() => changes(word)).toThrow('KEY=VALUE to set a label, or KEY-');
  });

  test.each([
    ['a=b', 'a-'],
    ['a-', 'a=b'],
  ])('are not both: %s %s', (...words) => {
    expect(() => changes(...words)).toThrow('set and removed at once: a');
  });
});

test('a list of known words has no others', () => {
  const read = wordsAmong('fruit', ['apple', 'pear']);
  expect(read('pear, apple')).toEqual(['pear', 'apple']);
  expect(() => read('pear,plum')).toThrow('Unknown fruit "plum". Known: apple, pear');
});

test.each([
  ['low', 0],
  ['CRITICAL', 40],
  ['0', 0],
  ['50', 50],
])('a priority: %s', (text, priority) => {
  expect(priorityOf(text)).toBe(priority);
});

test.each(['51', '-1', '1.5', '', 'asap', '007'])('no priority: "%s"', text => {
  expect(() => priorityOf(text)).toThrow('0 to 50, or one of low, normal');
});

test('a list of words has no holes', () => {
  expect(wordList('a, b')).toEqual(['a', 'b']);
  expect(() => wordList('a,,b')).toThrow('separated by commas');
});

describe('a config', () => {
  const file = (name: string, text: string): string => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, text);
    return path;
  };

  test.each(['digits', 'my config', 'v1.5', 'a.jsonl', 'flux/kontext', 'flux.peft-lora+TREAD'])(
    '%s is the name of one of the orchestrator',
    async word => {
      expect(await readConfigArgument(word)).toEqual({ config_name: word });
    },
  );

  test('is sent along when it is given by its path, and called as its file is', async () => {
    const path = file('lora.json', '\ufeff{"steps": 3}');
    expect(await readConfigArgument(path)).toEqual({ config_name: 'lora', config: { steps: 3 } });
  });

  test('that is called config.json is called as its folder is', async () => {
    const path = file('config.json', '{}');
    const folder = path.split('/').at(-2);
    expect(await readConfigArgument(path)).toMatchObject({ config_name: folder });
  });

  test('is read as YAML or TOML where its name ends like that', async () => {
    const yaml = await readConfigArgument(file('a.yaml', 'job: extension\nconfig:\n  name: dog\n'));
    expect(yaml).toEqual({ config_name: 'a', config: { job: 'extension', config: { name: 'dog' } } });
    const toml = await readConfigArgument(file('b.toml', 'lr = 1e-4\n'));
    expect(toml).toEqual({ config_name: 'b', config: { lr: 0.0001 } });
  });

  /** A project in SimpleTuner's layout: paths in a config are relative to the parent of its folder. */
  function project(files: Readonly<Record<string, string>>): string {
    const root = temporaryFolder();
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(root, dirname(name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    return root;
  }
  const simpletuner = JSON.stringify({
    model_family: 'flux',
    data_backend_config: 'config/multidatabackend.json',
    lycoris_config: 'config/lycoris_config.json',
  });

  test('brings the dataloader and the other files that it names', async () => {
    const root = project({
      'config/lora/config.json': simpletuner,
      'config/multidatabackend.json': '[{"id": "images"}]',
      'config/lycoris_config.json': '{"algo": "lokr"}',
    });
    expect(await readConfigArgument(join(root, 'config/lora/config.json'))).toEqual({
      config_name: 'lora',
      config: JSON.parse(simpletuner),
      dataloader: [{ id: 'images' }],
      files: { 'config/lycoris_config.json': '{"algo": "lokr"}' },
    });
  });

  test.each([
    [
      'is missing',
      { 'config/lora.json': simpletuner },
      /lora\.json names config\/multidatabackend\.json \(data_backend_config\), but the file is not in the current folder/,
    ],
    [
      'is no JSON',
      { 'config/lora.json': simpletuner, 'config/multidatabackend.json': '[\n  {,}\n]' },
      /names config\/multidatabackend\.json \(data_backend_config\), which is not valid: line 2, column 4: /,
    ],
  ])('of which a file %s ends the command and says which', async (_what, files, message) => {
    await expectFailure(join(project(files), 'config/lora.json'), message);
  });

  test.each([
    ['is not there', '/nowhere/x.json', /cannot be read: ENOENT.*name of a config/],
    ['is a folder', '/', /cannot be read: EISDIR/],
    ['is no JSON', file('x.json', '{"a": '), /x\.json is not valid JSON: line 1, column 7: /],
    ['has a tab in YAML', file('x.yaml', 'a:\n\tb: 1'), /x\.yaml is not valid YAML: line 2, column 1: a tab/],
    [
      'has a key twice in TOML',
      file('x.toml', 'a = 1\na = 2'),
      /x\.toml is not valid TOML: line 2, column 1: /,
    ],
    ['is a list', file('y.json', '[1]'), /y\.json is not an object/],
    ['is a text', file('z.json', '"steps"'), /z\.json is not an object/],
  ])('that %s ends the command as a mistake in its use', async (_what, path, message) => {
    await expectFailure(path, message);
  });

  async function expectFailure(path: string, message: RegExp): Promise<void> {
    const end = await readConfigArgument(path).catch((cause: unknown) => cause);
    expect(end).toBeInstanceOf(CommandEnd);
    expect((end as CommandEnd).failure).toEqual({ code: 2, message: expect.stringMatching(message) });
  }
});
