import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createLineFold, foldLine } from '../../../../../main/store/logs/log-line.ts';

const printed = fc
  .array(fc.constantFrom('\r', '\r\r', 'a', 'bc', 'ä', '🚂', '10%'))
  .map(parts => parts.join(''));

// The text that a terminal shows: that after the last carriage return, not counting those at the end of the line.
const visibleText = (text: string): string => text.replace(/\r+$/, '').split('\r').at(-1) ?? '';

test('folds a line to what a terminal shows, however the bytes are split', () => {
  fc.assert(
    fc.property(printed, fc.array(fc.nat(40)), (text, cuts) => {
      const bytes = Buffer.from(text);
      expect(foldLine(bytes, 1_000)).toEqual({ text: visibleText(text), isCut: false });
      const fold = createLineFold(1_000);
      fold.add(Buffer.from('what was there before'));
      fold.clear();
      const ends = [...cuts.filter(cut => cut <= bytes.length), bytes.length].toSorted((a, b) => a - b);
      ends.forEach((end, n) => fold.add(bytes.subarray(ends[n - 1] ?? 0, end)));
      expect(fold.line()).toEqual({ text: visibleText(text), isCut: false });
    }),
  );
});

test('cuts a line at the byte limit, and never inside a character', () => {
  fc.assert(
    fc.property(printed, fc.integer({ min: 0, max: 20 }), (text, most) => {
      const bytes = Buffer.from(text);
      const { text: kept, isCut } = foldLine(bytes, most);
      expect([visibleText(text).startsWith(kept), isCut]).toEqual([true, kept !== visibleText(text)]);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(most);
      const fold = createLineFold(most);
      for (let at = 0; at < bytes.length; at += 1) fold.add(bytes.subarray(at, at + 1));
      expect(fold.line()).toEqual({ text: kept, isCut });
    }),
  );
});
