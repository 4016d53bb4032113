import { createContext, useContext, useState } from 'react';

const OpenerContext = createContext<Element | null>(null);
/** For dialogs that follow each other: who had the focus before the first of them. A button of that one is gone by then. */
export const OpenerProvider = OpenerContext.Provider;

/**
 * For what opens above the page: when it closes, the focus goes back to whoever had it, or to the page when that is gone. What
 * has no trigger of its own, and is there as long as it is rendered, would leave it nowhere. A menu gives the focus back
 * before it acts.
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

/** The next Tab goes to the first thing on the page, and not to the first link of the frame. */
export const focusPage = (): void => document.getElementById('content')?.focus({ preventScroll: true });
