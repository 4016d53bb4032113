import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CommandEnd } from '../../../main/cli/failure.ts';
import { addLabel, decimal, timeSpan, wholeNumber, wordList } from '../../../main/cli/flags.ts';
import { readConfigArgument } from '../../../main/cli/jobs/config-argument.ts';
import { temporaryFolder } from '../../support/processes.ts';

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

test('a list of words has no holes', () => {
  expect(wordList('a, b')).toEqual(['a', 'b']);
  expect(() => wordList('a,,b')).toThrow('commas between');
});

describe('a config', () => {
  const file = (name: string, text: string): string => {
    const path = join(temporaryFolder(), name);
    writeFileSync(path, text);
    return path;
  };

  test.each(['digits', 'my config', 'v1.5', 'a.jsonl'])('%s is the name of one of the orchestrator', word => {
    expect(readConfigArgument(word)).toEqual({ config_name: word });
  });

  test('is sent along when it is given by its path, and called as its file is', () => {
    const path = file('lora.json', '\ufeff{"steps": 3}');
    expect(readConfigArgument(path)).toEqual({ config_name: 'lora', config: { steps: 3 } });
  });

  test('that is called config.json is called as its folder is', () => {
    const path = file('config.json', '{}');
    const folder = path.split('/').at(-2);
    expect(readConfigArgument(path)).toMatchObject({ config_name: folder });
  });

  test.each([
    ['is not there', '/nowhere/x.json', /can not be read: ENOENT.*name of a config/],
    ['is a folder', '/', /can not be read: EISDIR/],
    ['is no JSON', file('x.json', '{"a": '), /x\.json is not valid JSON: /],
    ['is a list', file('y.json', '[1]'), /y\.json holds no JSON object/],
    ['is a text', file('z.json', '"steps"'), /z\.json holds no JSON object/],
  ])('that %s ends the command as a mistake in its use', (_what, path, message) => {
    try {
      readConfigArgument(path);
      expect.unreachable();
    } catch (cause) {
      expect(cause).toBeInstanceOf(CommandEnd);
      expect((cause as CommandEnd).failure).toEqual({ code: 2, message: expect.stringMatching(message) });
    }
  });
});
