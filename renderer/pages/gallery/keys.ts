import { useEffect, useRef } from 'react';

/** Elements that use these keys themselves. */
const capturesKeys = 'input, select, textarea, video, [role="menu"]';

/**
 * Calls the action of a pressed key, unless the focused element uses the key itself. With `isInDialog`, the hook listens
 * only while the focus is in a dialog; otherwise, only while the focus is outside dialogs.
 */
export function useKeys(actions: Readonly<Record<string, () => void>>, isInDialog: boolean): void {
  const newest = useRef(actions);
  newest.current = actions;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const { key, target, altKey, ctrlKey, metaKey } = event;
      if (altKey || ctrlKey || metaKey || !(target instanceof Element)) return;
      if (target.matches(capturesKeys) || (target.closest('[role="dialog"]') !== null) !== isInDialog) return;
      const act = newest.current[key.length === 1 ? key.toLowerCase() : key];
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, [isInDialog]);
}
