import { describe, expect, test } from 'vitest';
import { configTextIn, formatOf, parseConfigText, parseFailure } from '../../../trainers/index.ts';

type ConfigFormat = Parameters<typeof parseConfigText>[1];

const parsed = (text: string, format: ConfigFormat): unknown => {
  const result = parseConfigText(text, format);
  return result.ok ? result.value : parseFailure(result);
};

describe('the format of a file', () => {
  test.each([
    ['config.json', 'json'],
    ['config.jsonc', 'json'],
    ['my.lora.YAML', 'yaml'],
    ['train.yml', 'yaml'],
    ['kohya.toml', 'toml'],
    ['config.env', null],
    ['json', null],
  ])('of %s is %s', (file, format) => {
    expect(formatOf(file)).toBe(format);
  });
});

describe('the text of a config', () => {
  test.each<[string, ConfigFormat, string, unknown]>([
    ['JSON behind a byte order mark', 'json', '\ufeff{"lr": 1e-4}', { lr: 0.0001 }],
    ['a float of YAML without a dot, as ai-toolkit reads it', 'yaml', 'lr: 1e-4', { lr: 0.0001 }],
    ['a word that YAML 1.1 has for true', 'yaml', 'quantize: yes', { quantize: true }],
    ['a merge key', 'yaml', 'a: &x {b: 1}\nc:\n  <<: *x\n  d: 2', { a: { b: 1 }, c: { b: 1, d: 2 } }],
    ['a date', 'yaml', 'day: 2026-01-31', { day: '2026-01-31' }],
    [
      'sections of TOML',
      'toml',
      '[model]\nv2 = false\n[train]\nlr = 1e-4',
      { model: { v2: false }, train: { lr: 0.0001 } },
    ],
    ['a date of TOML', 'toml', 'day = 2026-01-31', { day: '2026-01-31' }],
  ])('parses to JSON values: %s', (_what, format, text, value) => {
    expect(parsed(text, format)).toEqual(value);
  });

  test.each<[string, ConfigFormat, string, string]>([
    ['a trailing comma', 'json', '{\n  "a": 1,\n}', 'line 3, column 1: expected double-quoted property name'],
    ['a value that is not JSON', 'json', '{"a": NaN}', "line 1, column 7: unexpected token 'N'"],
    [
      'a text that is cut off',
      'json',
      '{"a": [1',
      "line 1, column 9: expected ',' or ']' after array element",
    ],
    ['no text', 'json', '', 'line 1, column 1: the file ends in the middle of the JSON'],
    ['a tab', 'yaml', 'config:\n\tname: x', 'line 2, column 1: a tab cannot indent YAML: use spaces'],
    ['a duplicate key', 'yaml', 'a: 1\na: 2', 'line 2, column 1: Map keys must be unique'],
    [
      'a tag that asks for code',
      'yaml',
      'a: !!python/object/apply:os.system [x]',
      'line 1, column 36: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed',
    ],
    [
      'a duplicate key of TOML',
      'toml',
      'lr = 1\nlr = 2',
      'line 2, column 1: trying to redefine an already defined table or value',
    ],
    ['a string of TOML that does not end', 'toml', 'a = "x', 'line 1, column 5: unfinished string'],
  ])('fails with line and column: %s', (_what, format, text, message) => {
    expect(parsed(text, format)).toBe(message);
  });

  test('does not follow aliases that multiply to millions of values', () => {
    const bomb = [
      'a: &a [x,x,x,x,x,x,x,x,x]',
      ...'bcdefgh'
        .split('')
        .map(
          (key, n) => `${key}: &${key} [${Array.from({ length: 9 }, () => `*${'abcdefg'[n]}`).join(',')}]`,
        ),
    ];
    expect(parsed(bomb.join('\n'), 'yaml')).toMatch(/alias/i);
  });
});

test('writes TOML without nulls and keeps sections', () => {
  const text = configTextIn(
    { lr: 0.0001, name: 'a "b"', none: null, train: { steps: 10, none: null } },
    'toml',
  );
  expect(parsed(text, 'toml')).toEqual({ lr: 0.0001, name: 'a "b"', train: { steps: 10 } });
});
