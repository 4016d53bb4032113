import { useEffect } from 'react';
import { tinykeys } from 'tinykeys';
import { useLocation } from 'wouter';
import { useMay } from './context.ts';
import { pagesFor } from './pages.ts';

/** Elements in which keys are text or have their own meaning. */
const taken =
  'input:not([type="checkbox"]), textarea, select, [contenteditable], [role="dialog"], [role="alertdialog"], [role="menu"]';
const layers = '[role="dialog"], [role="alertdialog"], [role="menu"]';
const isIn = ({ target }: KeyboardEvent, places: string): boolean =>
  target instanceof Element && target.closest(places) !== null;

const focusFirst = (what: string): void => document.querySelector<HTMLElement>(`#content ${what}`)?.focus();

/** Shortcuts that work on every page; the help page lists them. */
export function useShortcuts(onPalette: () => void): void {
  const [, go] = useLocation();
  const may = useMay();
  useEffect(() => {
    const unlessTaken = (act: () => void) => (event: KeyboardEvent) => {
      if (isIn(event, taken)) return;
      event.preventDefault();
      act();
    };
    const palette = (event: KeyboardEvent): void => {
      event.preventDefault();
      // Leaving the page would discard the dialog's input.
      if (!isIn(event, layers)) onPalette();
    };
    // A table handles the key itself when a row has the focus.
    const row = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !isIn(event, taken)) focusFirst('[data-row]');
    };
    return tinykeys(
      globalThis.window,
      {
        '$mod+k': palette,
        // Many keyboards need Shift for these two keys.
        '[Shift]+?': unlessTaken(() => go('/help')),
        '[Shift]+/': unlessTaken(() => focusFirst('input[type="search"]')),
        ...Object.fromEntries(
          pagesFor(may).map(({ key, path }) => [`g ${key}`, unlessTaken(() => go(path))]),
        ),
        // Must follow the `g` sequences: `g j` opens a page.
        j: row,
      },
      { ignore: event => event.repeat || event.isComposing },
    );
  }, [go, may, onPalette]);
}
