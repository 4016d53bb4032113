import { useEffect, useState } from 'react';

/** Returns the value of a CSS variable of the current theme, such as `--text`, as a colour that a canvas accepts. */
export type ColourOf = (name: string) => string;

/**
 * Returns values of the current theme; re-renders when the theme or the language changes. `read` must be the same
 * function in every render.
 */
export function useThemeValues<T>(read: (colourOf: ColourOf) => T): T {
  const [values, setValues] = useState(() => readWithProbe(read));
  useEffect(() => {
    const refresh = (): void => setValues(readWithProbe(read));
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const theme = new MutationObserver(refresh);
    scheme.addEventListener('change', refresh);
    theme.observe(document.documentElement, { attributeFilter: ['data-theme', 'lang'] });
    return () => {
      scheme.removeEventListener('change', refresh);
      theme.disconnect();
    };
  }, [read]);
  return values;
}

/** Resolves CSS variables through a temporary element, because a canvas does not accept values such as `light-dark(...)`. */
function readWithProbe<T>(read: (colourOf: ColourOf) => T): T {
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const values = read(name => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return values;
}
