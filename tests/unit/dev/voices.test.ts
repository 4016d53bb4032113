import { expect, test } from 'vitest';
import { createVoices } from '../../../dev/voices.ts';

function said(isColourful: boolean, text: string): string {
  let all = '';
  createVoices(part => {
    all += part;
  }, isColourful)('panel')(text);
  return all;
}

test('prefixes each line with its source and skips empty lines', () => {
  expect(said(false, 'one\n\ntwo\r\n')).toBe('panel  | one\npanel  | two\n');
});

test('keeps colours only when writing to a terminal', () => {
  const red = '\u001b[31mred\u001b[39m';
  expect(said(false, red)).toBe('panel  | red\n');
  expect(said(true, red)).toContain(red);
  expect(said(true, red).startsWith('\u001b[')).toBe(true);
});
