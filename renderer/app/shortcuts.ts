import { useEffect } from 'react';
import { tinykeys } from 'tinykeys';
import { useLocation } from 'wouter';
import { pages } from './pages.ts';

/** Not while somebody writes: a letter is a letter there. */
const isWriting = ({ target }: KeyboardEvent): boolean =>
  target instanceof Element && target.closest('input, textarea, select, [contenteditable]') !== null;

/** Keys that work on every page; Help has the list of them. */
export function useShortcuts(onPalette: () => void): void {
  const [, go] = useLocation();
  useEffect(() => {
    const unlessWriting = (act: () => void) => (event: KeyboardEvent) => {
      if (isWriting(event)) return;
      event.preventDefault();
      act();
    };
    const palette = (event: KeyboardEvent): void => {
      event.preventDefault();
      onPalette();
    };
    return tinykeys(globalThis.window, {
      '$mod+k': palette,
      'Shift+?': unlessWriting(() => go('/help')),
      '/': unlessWriting(() => document.querySelector<HTMLElement>('input[type="search"]')?.focus()),
      ...Object.fromEntries(pages.map(({ key, path }) => [`g ${key}`, unlessWriting(() => go(path))])),
    });
  }, [go, onPalette]);
}
