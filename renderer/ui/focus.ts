import { createContext, useContext, useState } from 'react';

const OpenerContext = createContext<Element | null>(null);
/**
 * Provides the element to focus after the last of several successive dialogs: the one that had the focus before the
 * first dialog. The buttons of the earlier dialogs no longer exist then.
 */
export const OpenerProvider = OpenerContext.Provider;

/**
 * Returns a close handler for overlays. The handler returns the focus to the element that had the focus before, or to
 * the page when that element is gone. Without this handler, an overlay that no button opened would lose the focus. A
 * menu returns the focus before its action runs.
 */
export function useReturnedFocus(): (event: Event) => void {
  const opener = useContext(OpenerContext);
  const [before] = useState(() => opener ?? document.activeElement);
  return event => {
    event.preventDefault();
    if (before instanceof HTMLElement && before.isConnected && before !== document.body) before.focus();
    else focusPage();
  };
}

/** Focuses the content of the page, so that Tab continues with its first element and not with the navigation. */
export const focusPage = (): void => document.getElementById('content')?.focus({ preventScroll: true });
