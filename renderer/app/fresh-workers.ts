import { useEffect } from 'react';
import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import { refreshWorkers } from '../api/refresh.ts';
import { usePanel } from './context.ts';

/** Keeps loads, contacts and worker status up to date while a page shows them. */
export function useFreshWorkers(): void {
  const { client, fleet: store, may } = usePanel();
  // Without the stream, every page polls the workers anyway.
  const isWanted = may(workersApi.list) && may(eventsApi.stream);
  useEffect(
    () => (isWanted ? refreshWorkers({ client, store, page: document }) : undefined),
    [client, store, isWanted],
  );
}
