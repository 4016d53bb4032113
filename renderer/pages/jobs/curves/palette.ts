import { type ColourOf, useThemeValues } from '../../../ui/theme-values.ts';

/** The colours of the current theme, as values that a canvas accepts. */
export interface Palette {
  /** Colours of the lines, in order. */
  readonly lines: readonly string[];
  readonly muted: string;
  readonly grid: string;
}

const lineNames = ['--curve-1', '--curve-2', '--curve-3', '--curve-4', '--curve-5', '--curve-6'] as const;

/**
 * Dash patterns. Their number, 5, shares no factor with the 6 colours. So 30 lines have 30 different combinations.
 */
const dashes: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 3]];

/** Returns the dash pattern of a line, as lengths in pixels. An empty pattern means a solid line. */
export const dashOf = (style: number): number[] => [...(dashes[style % dashes.length] ?? [])];
export const colourOf = ({ lines }: Pick<Palette, 'lines'>, style: number): string =>
  lines[style % lines.length] ?? 'currentcolor';
export const colourNameOf = (style: number): string => lineNames[style % lineNames.length] ?? '--text';

/** Returns the colours of the current theme; re-renders when the theme changes. */
export const usePalette = (): Palette => useThemeValues(readPalette);

const readPalette = (resolved: ColourOf): Palette => ({
  lines: lineNames.map(resolved),
  muted: resolved('--muted'),
  grid: resolved('--line'),
});
