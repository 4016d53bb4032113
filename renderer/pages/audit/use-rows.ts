import { useCallback, useEffect, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { usePanel } from '../../app/context.ts';
import { useT } from '../../i18n/index.ts';
import { tellFailure } from '../../ui/toast.tsx';
import { type AuditWish, queryOf } from './query.ts';

export type AuditRow = ValueOf<typeof auditApi.list>['entries'][number];

const pageSize = 200;
/** Somebody who types has not finished before this. */
const settledMs = 250;

/** The newest rows that fit, and more of them when they are asked for. */
export function useRows(wish: AuditWish) {
  const t = useT();
  const { client } = usePanel();
  const [found, setFound] = useState<{ readonly rows: readonly AuditRow[]; readonly total: number }>({
    rows: [],
    total: 0,
  });
  const load = useCallback(
    async (offset: number, signal?: AbortSignal) => {
      const query = { ...queryOf(wish), limit: pageSize, offset };
      const answer = await client.call(auditApi.list, { query, ...(signal && { signal }) });
      if (signal?.aborted === true) return;
      if (!answer.ok) return tellFailure(t, answer.failure);
      const { entries, total } = answer.value;
      setFound(was => ({ rows: offset === 0 ? entries : [...was.rows, ...entries], total }));
    },
    [client, t, wish],
  );
  useEffect(() => {
    const loading = new AbortController();
    const timer = setTimeout(() => void load(0, loading.signal), settledMs);
    return () => {
      clearTimeout(timer);
      loading.abort();
    };
  }, [load]);
  return { ...found, more: () => void load(found.rows.length) };
}
