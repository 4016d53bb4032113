import { expect, test } from 'vitest';
import { createPrefixedOutputs } from '../../../dev/program.ts';

/** Returns the prefixed output for this text of the program `panel`. */
function print(isColourful: boolean, text: string): string {
  let output = '';
  const outputFor = createPrefixedOutputs(chunk => {
    output += chunk;
  }, isColourful);
  outputFor('panel')(text);
  return output;
}

test('prefixes each line with its source and skips empty lines', () => {
  expect(print(false, 'one\n\ntwo\r\n')).toBe('panel  | one\npanel  | two\n');
});

test('keeps colours only when writing to a terminal', () => {
  const red = '\u001b[31mred\u001b[39m';
  expect(print(false, red)).toBe('panel  | red\n');
  expect(print(true, red)).toContain(red);
  expect(print(true, red).startsWith('\u001b[')).toBe(true);
});
