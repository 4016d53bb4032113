import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { CallFailure, ValueOf } from '../../../protocol/client.ts';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { usePanel } from '../../app/context.ts';
import { useEventReads } from '../../app/use-event-reads.ts';
import { type Dataset, groupVersions } from './datasets.ts';
import { detailOf } from '../../api/session.ts';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';

type Answer = ValueOf<typeof datasetsApi.list>;

export interface DatasetsRead {
  /** Null before the first answer. */
  readonly answer: Answer | null;
  readonly datasets: readonly Dataset[];
  /** Failure of the last request; the previous answer stays. */
  readonly failure: CallFailure | null;
  readonly reload: () => void;
}

const rereadDelayMs = 1_000;
const allVersions = { all: 'true' } as const;

/**
 * Reads the datasets. Reads them again after job events and when the user returns to the page, because no event reports
 * a new dataset.
 */
export function useDatasets(): DatasetsRead {
  const { client } = usePanel();
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const requests = useRef(0);
  const read = useCallback(
    async (signal?: AbortSignal): Promise<void> => {
      requests.current += 1;
      const request = requests.current;
      const result = await client.call(datasetsApi.list, { query: allVersions, ...(signal && { signal }) });
      // Ignore this answer when a later request has started, because the answer to that request is newer.
      if (signal?.aborted === true || request !== requests.current) return;
      if (result.ok) setAnswer(result.value);
      setFailure(result.ok ? null : result.failure);
    },
    [client],
  );
  useEventReads(read, rereadDelayMs, useReturnCount());
  const datasets = useMemo(() => groupVersions(answer?.datasets ?? []), [answer]);
  return { answer, datasets, failure, reload: useCallback(() => void read(), [read]) };
}

/** Counts how often the user has returned to the page. */
function useReturnCount(): number {
  const [returns, setReturns] = useState(0);
  useEffect(() => {
    const countReturn = (): void => {
      if (!document.hidden) setReturns(count => count + 1);
    };
    document.addEventListener('visibilitychange', countReturn);
    // Listen to the focus as well: `visibilitychange` does not fire when the user works in a terminal next to the page.
    globalThis.addEventListener('focus', countReturn);
    return () => {
      document.removeEventListener('visibilitychange', countReturn);
      globalThis.removeEventListener('focus', countReturn);
    };
  }, []);
  return returns;
}

interface LoadFailureProps {
  readonly failure: CallFailure | null;
  readonly onRetry: () => void;
}

export function LoadFailure({ failure, onRetry }: LoadFailureProps) {
  const t = useT();
  if (failure === null) return null;
  return (
    <p className="trouble" role="alert">
      {detailOf(failure) ?? t('error.unreachable')} <Button onClick={onRetry}>{t('action.retry')}</Button>
    </p>
  );
}
