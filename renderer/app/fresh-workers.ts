import { useEffect } from 'react';
import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import { refreshWorkers } from '../api/refresh.ts';
import { usePanel } from './context.ts';

/** Keeps the load, last contact and status of workers current while a page that shows them is open. */
export function useFreshWorkers(): void {
  const { client, fleet: store, may } = usePanel();
  // Users who may not read the event stream already get the workers by polling.
  const isWanted = may(workersApi.list) && may(eventsApi.stream);
  useEffect(
    () => (isWanted ? refreshWorkers({ client, store, page: document }) : undefined),
    [client, store, isWanted],
  );
}
