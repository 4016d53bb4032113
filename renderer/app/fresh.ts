import { useEffect } from 'react';
import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import { refreshWorkers } from '../api/refresh.ts';
import { usePanel } from './context.ts';

/** For a page that shows loads, contacts or the status of workers: they are kept as new as they can be. */
export function useFreshWorkers(): void {
  const { client, fleet: store, may } = usePanel();
  // Without the stream they are read on every page.
  const isWanted = may(workersApi.list) && may(eventsApi.stream);
  useEffect(
    () => (isWanted ? refreshWorkers({ client, store, page: document }) : undefined),
    [client, store, isWanted],
  );
}
