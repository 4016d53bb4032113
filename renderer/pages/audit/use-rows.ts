import { useCallback, useEffect, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { CallFailure, ValueOf } from '../../../protocol/client.ts';
import { usePanel } from '../../app/context.ts';
import { type AuditWish, queryOf } from './query.ts';

export type AuditRow = ValueOf<typeof auditApi.list>['entries'][number];

const pageSize = 200;
/** A pause of this length means that the user has stopped typing. */
const settledMs = 250;

/** Loads the newest matching rows, and more on request. */
export function useRows(wish: AuditWish) {
  const { client } = usePanel();
  const [found, setFound] = useState<{ readonly rows: readonly AuditRow[]; readonly total: number }>({
    rows: [],
    total: 0,
  });
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const load = useCallback(
    async (offset: number, signal?: AbortSignal) => {
      const query = { ...queryOf(wish), limit: pageSize, offset };
      const answer = await client.call(auditApi.list, { query, ...(signal && { signal }) });
      if (signal?.aborted === true) return;
      setFailure(answer.ok ? null : answer.failure);
      if (!answer.ok) return;
      const { entries, total } = answer.value;
      setFound(was => ({ rows: offset === 0 ? entries : [...was.rows, ...entries], total }));
    },
    [client, wish],
  );
  useEffect(() => {
    const loading = new AbortController();
    const timer = setTimeout(() => void load(0, loading.signal), settledMs);
    return () => {
      clearTimeout(timer);
      loading.abort();
    };
  }, [load]);
  return {
    ...found,
    failure,
    more: () => void load(found.rows.length),
    retry: () => void load(0),
  };
}
