import { describe, expect, test } from 'vitest';
import { configTextIn, formatOf, parseConfigText, parseFailure } from '../../../trainers/index.ts';

type ConfigFormat = Parameters<typeof parseConfigText>[1];

/** Returns the parsed value of the text, or the message of the parse error. */
const parse = (text: string, format: ConfigFormat): unknown => {
  const result = parseConfigText(text, format);
  return result.ok ? result.value : parseFailure(result);
};

describe('formatOf', () => {
  test.each([
    ['config.json', 'json'],
    ['config.jsonc', 'json'],
    ['my.lora.YAML', 'yaml'],
    ['train.yml', 'yaml'],
    ['kohya.toml', 'toml'],
    ['config.env', null],
    ['json', null],
  ])('returns for the file %s the format %s', (file, format) => {
    expect(formatOf(file)).toBe(format);
  });
});

describe('parseConfigText', () => {
  test.each<[string, ConfigFormat, string, unknown]>([
    ['JSON with a byte order mark', 'json', '\ufeff{"lr": 1e-4}', { lr: 0.0001 }],
    ['a YAML float without a dot, as ai-toolkit reads it', 'yaml', 'lr: 1e-4', { lr: 0.0001 }],
    ['a YAML 1.1 word for true', 'yaml', 'quantize: yes', { quantize: true }],
    ['a YAML merge key', 'yaml', 'a: &x {b: 1}\nc:\n  <<: *x\n  d: 2', { a: { b: 1 }, c: { b: 1, d: 2 } }],
    ['a YAML date', 'yaml', 'day: 2026-01-31', { day: '2026-01-31' }],
    [
      'TOML sections',
      'toml',
      '[model]\nv2 = false\n[train]\nlr = 1e-4',
      { model: { v2: false }, train: { lr: 0.0001 } },
    ],
    ['a TOML date', 'toml', 'day = 2026-01-31', { day: '2026-01-31' }],
  ])('parses %s to JSON values', (_title, format, text, value) => {
    expect(parse(text, format)).toEqual(value);
  });

  test.each<[string, ConfigFormat, string, string]>([
    ['a trailing comma', 'json', '{\n  "a": 1,\n}', 'line 3, column 1: expected double-quoted property name'],
    ['a value that is not JSON', 'json', '{"a": NaN}', "line 1, column 7: unexpected token 'N'"],
    ['truncated JSON', 'json', '{"a": [1', "line 1, column 9: expected ',' or ']' after array element"],
    ['an empty text', 'json', '', 'line 1, column 1: the file ends in the middle of the JSON'],
    ['a tab in YAML', 'yaml', 'config:\n\tname: x', 'line 2, column 1: a tab cannot indent YAML: use spaces'],
    ['a duplicate YAML key', 'yaml', 'a: 1\na: 2', 'line 2, column 1: Map keys must be unique'],
    [
      'a YAML tag that executes code',
      'yaml',
      'a: !!python/object/apply:os.system [x]',
      'line 1, column 36: the tag tag:yaml.org,2002:python/object/apply:os.system is not allowed',
    ],
    [
      'a duplicate TOML key',
      'toml',
      'lr = 1\nlr = 2',
      'line 2, column 1: trying to redefine an already defined table or value',
    ],
    ['an unfinished TOML string', 'toml', 'a = "x', 'line 1, column 5: unfinished string'],
  ])('reports the line, the column and the problem of %s', (_title, format, text, message) => {
    expect(parse(text, format)).toBe(message);
  });

  test('refuses YAML aliases that expand to millions of values', () => {
    // Each line contains nine aliases of the line before it.
    const lines = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    let previous = 'a';
    for (const key of ['b', 'c', 'd', 'e', 'f', 'g', 'h']) {
      const aliases = Array.from({ length: 9 }, () => `*${previous}`).join(',');
      lines.push(`${key}: &${key} [${aliases}]`);
      previous = key;
    }
    expect(parse(lines.join('\n'), 'yaml')).toMatch(/alias/i);
  });
});

test('configTextIn writes TOML with sections and omits null values', () => {
  const text = configTextIn(
    { lr: 0.0001, name: 'a "b"', none: null, train: { steps: 10, none: null } },
    'toml',
  );
  expect(parse(text, 'toml')).toEqual({ lr: 0.0001, name: 'a "b"', train: { steps: 10 } });
});
