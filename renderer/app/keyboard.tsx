/** Keyboard shortcuts of the panel. */
import { useEffect } from 'react';
import { tinykeys } from 'tinykeys';
import { useLocation } from 'wouter';
import { useMay } from './context.ts';
import { pagesFor } from './pages.ts';

/** Selects elements that handle keys themselves, for text input or for their own commands. */
const capturesKeys =
  'input:not([type="checkbox"]), textarea, select, [contenteditable], [role="dialog"], [role="alertdialog"], [role="menu"]';
const overlays = '[role="dialog"], [role="alertdialog"], [role="menu"]';
const isIn = ({ target }: KeyboardEvent, selector: string): boolean =>
  target instanceof Element && target.closest(selector) !== null;

const focusFirst = (selector: string): void =>
  document.querySelector<HTMLElement>(`#content ${selector}`)?.focus();

/** Shortcuts that work on every page; the help page lists them. */
export function useShortcuts(onPalette: () => void): void {
  const [, go] = useLocation();
  const may = useMay();
  useEffect(() => {
    const unlessCaptured = (act: () => void) => (event: KeyboardEvent) => {
      if (isIn(event, capturesKeys)) return;
      event.preventDefault();
      act();
    };
    const openPalette = (event: KeyboardEvent): void => {
      event.preventDefault();
      // Leaving the page would discard the dialog's input.
      if (!isIn(event, overlays)) onPalette();
    };
    // If a row has the focus, its table has already handled the key. Otherwise, focus the first row.
    const focusRow = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !isIn(event, capturesKeys)) focusFirst('[data-row]');
    };
    return tinykeys(
      globalThis.window,
      {
        '$mod+k': openPalette,
        // Many keyboards need Shift for these two keys.
        '[Shift]+?': unlessCaptured(() => go('/help')),
        '[Shift]+/': unlessCaptured(() => focusFirst('input[type="search"]')),
        ...Object.fromEntries(
          pagesFor(may).map(({ key, path }) => [`g ${key}`, unlessCaptured(() => go(path))]),
        ),
        // Register after the `g` sequences, because `g j` opens a page.
        j: focusRow,
      },
      { ignore: event => event.repeat || event.isComposing },
    );
  }, [go, may, onPalette]);
}
