import { type ColourOf, useThemeValues } from '../../ui/theme-values.ts';
import type { Paint } from './draw.ts';

/** Returns the colours and the font of the current theme; re-renders when the theme changes. */
export const usePaint = (): Paint => useThemeValues(readPaint);

/** Caches the width of each letter, because a chart draws hundreds of names in each frame. */
function createLetterWidths(): Paint['widthOf'] {
  const widths = new Map<string, number>();
  return (context, letter) => {
    const known = widths.get(letter);
    if (known !== undefined) return known;
    const { width } = context.measureText(letter);
    widths.set(letter, width);
    return width;
  };
}

const readPaint = (resolved: ColourOf): Paint => ({
  widthOf: createLetterWidths(),
  good: resolved('--good'),
  busy: resolved('--busy'),
  bad: resolved('--bad'),
  warn: resolved('--warn'),
  muted: resolved('--muted'),
  line: resolved('--line'),
  text: resolved('--text'),
  surface: resolved('--surface'),
  onColour: resolved('--on-accent'),
  accent: resolved('--accent'),
  font: `12px ${getComputedStyle(document.body).fontFamily}`,
});
