import { useEffect, useState } from 'react';

/** The colours of the theme, as a canvas takes them. */
export interface Palette {
  /** Of lines, one after the other. */
  readonly lines: readonly string[];
  readonly muted: string;
  readonly grid: string;
}

const lineNames = ['--curve-1', '--curve-2', '--curve-3', '--curve-4', '--curve-5', '--curve-6'] as const;

/** So many as have no factor in common with the colours: no two of thirty lines look the same. */
const dashes: readonly (readonly number[])[] = [[], [8, 4], [2, 3], [12, 3, 2, 3], [5, 3]];

export const dashOf = (style: number): number[] => [...(dashes[style % dashes.length] ?? [])];
export const colourOf = ({ lines }: Pick<Palette, 'lines'>, style: number): string =>
  lines[style % lines.length] ?? 'currentcolor';
export const colourNameOf = (style: number): string => lineNames[style % lineNames.length] ?? '--text';

/** Another one as soon as the theme is another one. */
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

/** A variable may say `light-dark(...)`: what that is here, an element that has the colour knows. */
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
