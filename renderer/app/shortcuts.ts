import { useEffect } from 'react';
import { tinykeys } from 'tinykeys';
import { useLocation } from 'wouter';
import { useMay } from './context.ts';
import { pagesFor } from './pages.ts';

/** Where a letter is a letter, or has a meaning of its own. */
const taken =
  'input:not([type="checkbox"]), textarea, select, [contenteditable], [role="dialog"], [role="alertdialog"], [role="menu"]';
const layers = '[role="dialog"], [role="alertdialog"], [role="menu"]';
const isIn = ({ target }: KeyboardEvent, places: string): boolean =>
  target instanceof Element && target.closest(places) !== null;

const focusFirst = (what: string): void => document.querySelector<HTMLElement>(`#content ${what}`)?.focus();

/** Keys that work on every page; Help has the list of them. */
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
      // What is written in a dialog would be lost with the page below it.
      if (!isIn(event, layers)) onPalette();
    };
    // A table moves on from the row that it is at by itself.
    const row = (event: KeyboardEvent): void => {
      if (!event.defaultPrevented && !isIn(event, taken)) focusFirst('[data-row]');
    };
    return tinykeys(
      globalThis.window,
      {
        '$mod+k': palette,
        // On many keyboards these two are reached with Shift.
        '[Shift]+?': unlessTaken(() => go('/help')),
        '[Shift]+/': unlessTaken(() => focusFirst('input[type="search"]')),
        ...Object.fromEntries(
          pagesFor(may).map(({ key, path }) => [`g ${key}`, unlessTaken(() => go(path))]),
        ),
        // Behind those: `g j` is for the page.
        j: row,
      },
      { ignore: event => event.repeat || event.isComposing },
    );
  }, [go, may, onPalette]);
}
