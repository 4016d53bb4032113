import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineFold, foldLine } from '../../../../../main/store/logs/log-line.ts';

const output = fc
  .array(fc.constantFrom('\r', '\r\r', 'a', 'bc', 'ä', '🚂', '10%'))
  .map(parts => parts.join(''));

// Returns the text that a terminal shows: the text after the last carriage return that does not end the line.
const visibleText = (text: string): string => text.replace(/\r+$/, '').split('\r').at(-1) ?? '';

test('folds a line to what a terminal shows, however the bytes are split', () => {
  fc.assert(
    fc.property(output, fc.array(fc.nat(40)), (text, splits) => {
      const bytes = Buffer.from(text);
      expect(foldLine(bytes, 1_000)).toEqual({ text: visibleText(text), isCut: false });
      const fold = createLineFold(1_000);
      fold.add(Buffer.from('a previous line'));
      fold.clear();
      const ends = [...splits.filter(split => split <= bytes.length), bytes.length].toSorted((a, b) => a - b);
      ends.forEach((end, index) => fold.add(bytes.subarray(ends[index - 1] ?? 0, end)));
      expect(fold.line()).toEqual({ text: visibleText(text), isCut: false });
    }),
  );
});

test('cuts a line at the byte limit, and never inside a character', () => {
  fc.assert(
    fc.property(output, fc.integer({ min: 0, max: 20 }), (text, maxBytes) => {
      const bytes = Buffer.from(text);
      const { text: kept, isCut } = foldLine(bytes, maxBytes);
      expect([visibleText(text).startsWith(kept), isCut]).toEqual([true, kept !== visibleText(text)]);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(maxBytes);
      const fold = createLineFold(maxBytes);
      for (let index = 0; index < bytes.length; index += 1) fold.add(bytes.subarray(index, index + 1));
      expect(fold.line()).toEqual({ text: kept, isCut });
    }),
  );
});
