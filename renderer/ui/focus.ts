import { createContext, useContext, useState } from 'react';

const OpenerContext = createContext<Element | null>(null);
/** For a sequence of dialogs: the element that had the focus before the first one. Buttons of earlier dialogs no longer exist. */
export const OpenerProvider = OpenerContext.Provider;

/**
 * Returns a close handler for overlays. It moves the focus back to the element that had it before, or to the page if that element no longer
 * exists. An overlay without a trigger would otherwise lose the focus. A menu moves the focus back before its action runs.
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

/** After this, Tab moves to the first element of the page, not to the navigation. */
export const focusPage = (): void => document.getElementById('content')?.focus({ preventScroll: true });
