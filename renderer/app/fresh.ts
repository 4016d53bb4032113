import { useEffect } from 'react';
import { refreshWorkers, type Sight } from '../api/refresh.ts';
import { usePanel } from './context.ts';

const sight: Sight = {
  isSeen: () => document.visibilityState === 'visible',
  onChange(run) {
    document.addEventListener('visibilitychange', run);
    return () => document.removeEventListener('visibilitychange', run);
  },
};

/** For a page that shows loads, contacts or the status of workers: they are kept as new as they can be. */
export function useFreshWorkers(): void {
  const { client, fleet } = usePanel();
  useEffect(() => refreshWorkers(client, fleet, sight), [client, fleet]);
}
