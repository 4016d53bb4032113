import { useEffect } from 'react';
import { refreshWorkers } from '../api/refresh.ts';
import { usePanel } from './context.ts';

/** For a page that shows loads, contacts or the status of workers: they are kept as new as they can be. */
export function useFreshWorkers(): void {
  const { client, fleet } = usePanel();
  useEffect(() => refreshWorkers(client, fleet), [client, fleet]);
}
