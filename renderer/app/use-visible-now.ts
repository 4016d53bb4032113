import { useEffect, useState } from 'react';

/**
 * Returns the time, and renders again at this interval while the page is visible, and when it becomes visible again. For data
 * of which no event tells, so that a hidden tab sends no requests.
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
