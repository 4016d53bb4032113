import { useCallback, useEffect, useRef } from 'react';

/**
 * Dialogs give the focus back to what had it when they opened. That is gone by then, where it was an item of a menu, or a
 * button of the dialog before: so whoever opens them remembers where it all began. The answer does that.
 */
export function useFocusReturn(isOpen: boolean): () => void {
  const opener = useRef<HTMLElement | null>(null);
  useEffect(() => {
    if (isOpen) return undefined;
    // After the dialog has done what it does when it goes.
    const timer = setTimeout(() => {
      if (isAdrift(document.activeElement)) opener.current?.focus();
      opener.current = null;
    });
    return () => clearTimeout(timer);
  }, [isOpen]);
  return useCallback(() => {
    opener.current ??= openerOf(document.activeElement);
  }, []);
}

/** Nobody has it, or the page as a whole. */
const isAdrift = (active: Element | null): boolean =>
  active === null || active === document.body || active.id === 'content';

/** Of a menu, the button that it hangs on. */
function openerOf(active: Element | null): HTMLElement | null {
  const menu = active?.closest('[role="menu"]');
  const trigger = menu && document.getElementById(menu.getAttribute('aria-labelledby') ?? '');
  const opener = trigger ?? active;
  return opener instanceof HTMLElement ? opener : null;
}
