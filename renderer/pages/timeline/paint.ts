import { type ColourOf, useThemeValues } from '../../ui/theme-values.ts';
import type { Paint } from './draw.ts';

/** Returns the colours and the font of the current theme; re-renders when the theme changes. */
export const usePaint = (): Paint => useThemeValues(readPaint);

const readPaint = (resolved: ColourOf): Paint => ({
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
