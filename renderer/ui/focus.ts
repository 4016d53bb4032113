import { useState } from 'react';

/**
 * For what opens above the page: when it closes, the focus goes back to whoever had it, or to the page when that is gone. What
 * has no trigger of its own, and is there as long as it is rendered, would leave it nowhere.
 */
export function useReturnedFocus(): (event: Event) => void {
  const [before] = useState(() => document.activeElement);
  return event => {
    event.preventDefault();
    if (before instanceof HTMLElement && before.isConnected && before !== document.body) before.focus();
    else focusPage();
  };
}

/** The next Tab goes to the first thing on the page, and not to the first link of the frame. */
export const focusPage = (): void => document.getElementById('content')?.focus({ preventScroll: true });
