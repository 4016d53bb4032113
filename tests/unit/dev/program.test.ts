import { expect, test } from 'vitest';
import { createPrefixedOutputs } from '../../../dev/program.ts';

function printed(isColourful: boolean, text: string): string {
  let all = '';
  createPrefixedOutputs(part => {
    all += part;
  }, isColourful)('panel')(text);
  return all;
}

test('prefixes each line with its source and skips empty lines', () => {
  expect(printed(false, 'one\n\ntwo\r\n')).toBe('panel  | one\npanel  | two\n');
});

test('keeps colours only when writing to a terminal', () => {
  const red = '\u001b[31mred\u001b[39m';
  expect(printed(false, red)).toBe('panel  | red\n');
  expect(printed(true, red)).toContain(red);
  expect(printed(true, red).startsWith('\u001b[')).toBe(true);
});
