import { useCallback, useEffect, useMemo, useState } from 'react';
import { auditApi } from '../../../protocol/admin-api.ts';
import type { ValueOf } from '../../../protocol/client.ts';
import { usePanel } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { tellFailure } from '../../ui/toast.tsx';
import { ChainBadge } from './chain.tsx';

type Row = ValueOf<typeof auditApi.list>['entries'][number];

const pageSize = 200;

export function AuditPage() {
  const t = useT();
  const [type, setType] = useState('');
  const [target, setTarget] = useState('');
  const { rows, total, more } = useRows(type.trim(), target.trim());
  const columns = useMemo(() => columnsIn(t), [t]);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{t('nav.audit')}</h1>
        <ChainBadge />
      </div>
      <div className="filters">
        <label>
          {t('audit.type')}
          <input value={type} onChange={event => setType(event.target.value)} placeholder="job.failed" />
        </label>
        <label>
          {t('audit.target')}
          <input value={target} onChange={event => setTarget(event.target.value)} placeholder="j_..." />
        </label>
        <span className="muted">{t('audit.count', { count: total })}</span>
      </div>
      <Table
        label={t('nav.audit')}
        columns={columns}
        rows={rows}
        idOf={({ seq }) => String(seq)}
        nameOf={({ event_type: what, target_id: id }) => `${what} ${id}`}
        empty={<Empty why={type === '' && target === '' ? t('audit.none') : t('audit.noMatch')} />}
      />
      {rows.length < total && <Button onClick={more}>{t('audit.more')}</Button>}
    </div>
  );
}

const columnsIn = (t: Translator): readonly Column<Row>[] => [
  { id: 'seq', title: t('audit.seq'), width: '44px', cell: ({ seq }) => seq, align: 'end' },
  { id: 'at', title: t('audit.at'), width: '215px', cell: ({ at }) => <Time at={at} style="absolute" /> },
  { id: 'what', title: t('audit.type'), width: '170px', cell: row => <code>{row.event_type}</code> },
  {
    id: 'who',
    title: t('audit.actor'),
    width: '148px',
    cell: row => `${row.actor_id ?? row.actor_type}${row.address === null ? '' : ` (${row.address})`}`,
  },
  { id: 'target', title: t('audit.target'), width: '136px', cell: row => <code>{row.target_id}</code> },
  {
    id: 'details',
    title: t('audit.details'),
    width: 'minmax(120px, 1fr)',
    cell: row => <code title={JSON.stringify(row.details)}>{JSON.stringify(row.details)}</code>,
  },
];

function useRows(type: string, target: string) {
  const t = useT();
  const { client } = usePanel();
  const [found, setFound] = useState<{ readonly rows: readonly Row[]; readonly total: number }>({
    rows: [],
    total: 0,
  });
  const load = useCallback(
    async (offset: number, signal?: AbortSignal) => {
      const query = {
        limit: pageSize,
        offset,
        ...(type === '' ? {} : { event_type: type }),
        ...(target === '' ? {} : { target_id: target }),
      };
      const answer = await client.call(auditApi.list, { query, ...(signal && { signal }) });
      if (signal?.aborted === true) return;
      if (!answer.ok) return tellFailure(t, answer.failure);
      const { entries, total } = answer.value;
      setFound(was => ({ rows: offset === 0 ? entries : [...was.rows, ...entries], total }));
    },
    [client, t, type, target],
  );
  useEffect(() => {
    const loading = new AbortController();
    void load(0, loading.signal);
    return () => loading.abort();
  }, [load]);
  return { ...found, more: () => void load(found.rows.length) };
}
