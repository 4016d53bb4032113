import { useEffect, useState } from 'react';

/**
 * Returns the time in milliseconds since 1970. It is updated every `everyMs` while the page is visible, and when the
 * page becomes visible again. Use it to poll data that causes no events: a hidden tab then sends no requests.
 */
export function useVisibleNow(everyMs: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const update = (): void => {
      if (document.visibilityState === 'visible') setNow(Date.now());
    };
    const timer = setInterval(update, everyMs);
    document.addEventListener('visibilitychange', update);
    return () => {
      clearInterval(timer);
      document.removeEventListener('visibilitychange', update);
    };
  }, [everyMs]);
  return now;
}
