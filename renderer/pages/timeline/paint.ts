import { useEffect, useState } from 'react';
import type { Paint } from './draw.ts';

/** Returns the colours and the font of the current theme; re-renders when the theme changes. */
export function usePaint(): Paint {
  const [paint, setPaint] = useState(readPaint);
  useEffect(() => {
    const read = (): void => setPaint(readPaint());
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const theme = new MutationObserver(read);
    scheme.addEventListener('change', read);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme', 'lang'] });
    return () => {
      scheme.removeEventListener('change', read);
      theme.disconnect();
    };
  }, []);
  return paint;
}

/** Resolves the CSS variables through a temporary element, because a canvas does not accept `light-dark(...)`. */
function readPaint(): Paint {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const resolved = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const paint = {
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
  };
  probe.remove();
  return paint;
}
