import { type RefObject, useCallback, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { useLocationProperty } from 'wouter/use-browser-location';

/**
 * Focuses the setting in the fragment of the URL as soon as the setting is rendered. Returns a function that opens the
 * URL of a setting.
 */
export function useJump(content: RefObject<HTMLElement | null>, topic: string): (href: string) => void {
  const [, navigate] = useLocation();
  const id = useLocationProperty(readFragment);
  const [jumps, setJumps] = useState(0);
  useEffect(() => {
    const { current: root } = content;
    if (root === null || id === '' || focusSetting(root, id)) return undefined;
    const observer = new MutationObserver(() => focusSetting(root, id) && observer.disconnect());
    observer.observe(root, { childList: true, subtree: true });
    return () => observer.disconnect();
  }, [content, topic, id, jumps]);
  return useCallback(
    href => {
      navigate(href);
      // Focus the setting again even if the URL stays the same, because the user selected the same setting again.
      setJumps(count => count + 1);
    },
    [navigate],
  );
}

const readFragment = (): string => location.hash.slice(1);

/** Focuses a control, or the section of a heading. Returns false when the page has no such element. */
function focusSetting(root: HTMLElement, id: string): boolean {
  const element = root.querySelector<HTMLElement>(`#${CSS.escape(id)}`);
  if (element === null) return false;
  const isControl = element.matches('input, select, textarea, button');
  const target = isControl ? element : (element.closest<HTMLElement>('.settings-tls, .card') ?? element);
  if (!isControl) target.tabIndex = -1;
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: isControl ? 'center' : 'start' });
  return true;
}
