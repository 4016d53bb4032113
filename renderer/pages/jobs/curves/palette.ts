import { useEffect, useState } from 'react';

/** The colours of the current theme, as values that a canvas accepts. */
export interface Palette {
  /** Colours of the lines, in order. */
  readonly lines: readonly string[];
  readonly muted: string;
  readonly grid: string;
}

const lineNames = ['--curve-1', '--curve-2', '--curve-3', '--curve-4', '--curve-5', '--curve-6'] as const;

/**
 * Dash patterns. Their number shares no factor with the number of colours, so thirty lines have thirty different
 * combinations.
 */
const dashes: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 3]];

export const dashOf = (style: number): number[] => [...(dashes[style % dashes.length] ?? [])];
export const colourOf = ({ lines }: Pick<Palette, 'lines'>, style: number): string =>
  lines[style % lines.length] ?? 'currentcolor';
export const colourNameOf = (style: number): string => lineNames[style % lineNames.length] ?? '--text';

/** Returns the colours of the current theme; re-renders when the theme changes. */
export function usePalette(): Palette {
  const [palette, setPalette] = useState(readPalette);
  useEffect(() => {
    const read = (): void => setPalette(readPalette());
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const theme = new MutationObserver(read);
    scheme.addEventListener('change', read);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
    return () => {
      scheme.removeEventListener('change', read);
      theme.disconnect();
    };
  }, []);
  return palette;
}

/**
 * Resolves the CSS variables through a temporary element, because a canvas does not accept values such as
 * `light-dark(...)`.
 */
function readPalette(): Palette {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const resolved = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const palette = {
    lines: lineNames.map(resolved),
    muted: resolved('--muted'),
    grid: resolved('--line'),
  };
  probe.remove();
  return palette;
}
