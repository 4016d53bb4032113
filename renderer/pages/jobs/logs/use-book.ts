import { useEffect, useState, useSyncExternalStore } from 'react';
import type { JobId } from '../../../../protocol/ids.ts';
import { logsApi } from '../../../../protocol/logs-api.ts';
import { followLog } from '../../../api/follow-log.ts';
import { usePanel } from '../../../app/context.ts';
import { createLogBook, type LogBook } from './log-book.ts';
import type { LogSnapshot } from './log-snapshot.ts';

/** Opens the log of this attempt while mounted, and follows it while the page is visible. Null on the first render. */
export function useBook(id: JobId, attempt: number | undefined): LogBook | null {
  const { client, baseUrl } = usePanel();
  const [book, setBook] = useState<LogBook | null>(null);
  useEffect(() => {
    const opened = createLogBook(
      {
        read: (query, signal) => client.call(logsApi.read, { params: { id }, query, signal }),
        follow: (of, line, tell) => followLog({ baseUrl, id, attempt: of, line, tell }),
      },
      attempt,
    );
    const onVisibility = (): void => opened.watch(document.visibilityState === 'visible');
    onVisibility();
    document.addEventListener('visibilitychange', onVisibility);
    setBook(opened);
    return () => {
      document.removeEventListener('visibilitychange', onVisibility);
      opened.close();
    };
  }, [client, baseUrl, id, attempt]);
  return book;
}

export const useSnapshot = (book: LogBook): LogSnapshot =>
  useSyncExternalStore(book.subscribe, book.snapshot);
