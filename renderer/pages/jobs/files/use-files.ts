import { useCallback, useEffect, useState } from 'react';
import type { CallFailure } from '../../../../protocol/client.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { usePanel } from '../../../app/context.ts';
import { useReads } from '../use-reads.ts';
import { type Files, readFiles } from './read-files.ts';

interface FilesRead {
  /** Null before the first answer. */
  readonly read: Files | null;
  /** Failure of the last request; the previous data stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
  readonly more: () => void;
}

export function useFiles(job: JobDetail): FilesRead {
  const { client } = usePanel();
  const [read, setRead] = useState<Files | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const [pages, setPages] = useState(1);
  const { reads, reload } = useReads(job);
  const { id } = job;
  useEffect(() => {
    const controller = new AbortController();
    void readFiles(client, id, pages, controller.signal).then(result => {
      if (controller.signal.aborted) return;
      if (result.ok) setRead(result.value);
      setFailure(result.ok ? null : result.failure);
    });
    return () => controller.abort();
  }, [client, id, pages, reads]);
  const more = useCallback(() => setPages(was => was + 1), []);
  return { read, failure, reload, more };
}
