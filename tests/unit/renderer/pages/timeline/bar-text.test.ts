import { expect, test } from 'vitest';
import { fittedText } from '../../../../../renderer/pages/timeline/draw.ts';

const widthOf = (letter: string): number => (letter === 'W' ? 12 : 6);
const widthOfText = (text: string): number =>
  Array.from(text).reduce((sum, letter) => sum + widthOf(letter), 0);

test('shows the whole job name if the name fits the bar', () => {
  expect(fittedText('✓', 'flux', 36, widthOf)).toBe('✓ flux');
});

test('shortens a text to the width of the bar, even with wide letters', () => {
  expect(fittedText('✓', 'fluxlora', 42, widthOf)).toBe('✓ flux…');
  expect(fittedText('✓', 'WWWWWWWW', 60, widthOf)).toBe('✓ WWW…');
  for (let room = 40; room < 120; room += 1)
    expect(widthOfText(fittedText('✓', 'WiWiWiWiWiWiWi', room, widthOf))).toBeLessThanOrEqual(room);
});

test('keeps the end of a shortened name if three letters before the end fit, too', () => {
  expect(fittedText('▷', 'ltxvideo-lora-trailer', 96, widthOf)).toBe('▷ ltxvi…-trailer');
  expect(fittedText('▷', 'ltxvideo-lora-trailer', 78, widthOf)).toBe('▷ ltxvideo-l…');
});

test('shows only the status sign if fewer than three letters of the job name fit', () => {
  expect(fittedText('✓', 'flux-lora', 30, widthOf)).toBe('✓');
});
