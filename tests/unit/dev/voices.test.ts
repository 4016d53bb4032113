import { expect, test } from 'vitest';
import { createVoices } from '../../../dev/voices.ts';

function said(isColourful: boolean, text: string): string {
  let all = '';
  createVoices(part => {
    all += part;
  }, isColourful)('panel')(text);
  return all;
}

test('each line says who said it; an empty one says nothing', () => {
  expect(said(false, 'one\n\ntwo\r\n')).toBe('panel  | one\npanel  | two\n');
});

test('colours are for a terminal alone, those of the text, too', () => {
  const red = '\u001b[31mred\u001b[39m';
  expect(said(false, red)).toBe('panel  | red\n');
  expect(said(true, red)).toContain(red);
  expect(said(true, red).startsWith('\u001b[')).toBe(true);
});
