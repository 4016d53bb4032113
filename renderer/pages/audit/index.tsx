import { useMemo, useCallback, useEffect, useState } from 'react';
import { useSearchParams } from 'wouter';
import { auditApi } from '../../../protocol/admin-api.ts';
import { urlOf, type CallFailure, type ValueOf } from '../../../protocol/client.ts';
import { detailOf } from '../../api/session.ts';
import { usePanel } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import './audit.css';
import { ChainBadge } from './chain-badge.tsx';
import { Target } from './target.tsx';
import { Filters, isEmpty, toSearchParams, toQuery, parseFilters, type AuditFilters } from './filters.tsx';

/** The audit page. Its filters are in the URL, so that a link shows the same rows. */
export function AuditPage() {
  const t = useT();
  const { baseUrl } = usePanel();
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => parseFilters(params), [params]);
  const { rows, total, isRead, failure, more, retry } = useRows(filters);
  const isLoading = !isRead && failure === null;
  const columns = useMemo(() => columnsIn(t), [t]);
  return (
    <div className="page">
      <div className="page-head">
        <h1>{t('nav.audit')}</h1>
        <ChainBadge />
      </div>
      <div className="audit-filters">
        <Filters filters={filters} onChange={next => setParams(toSearchParams(next), { replace: true })} />
        <a
          className="button button-plain"
          href={urlOf(baseUrl, auditApi.export.path, {}, toQuery(filters)).href}
          download
        >
          {t('audit.export')}
        </a>
      </div>
      <p className="muted audit-count" role="status">
        {isRead ? t('audit.count', { count: total }) : '\u00A0'}
      </p>
      {failure !== null && (
        <p className="trouble" role="alert">
          {detailOf(failure) ?? t('error.unreachable')} <Button onClick={retry}>{t('action.retry')}</Button>
        </p>
      )}
      <Table
        label={t('nav.audit')}
        columns={columns}
        rows={rows}
        idOf={idOf}
        nameOf={nameOf}
        details={detailsOf}
        isBusy={isLoading}
        empty={isRead ? <Empty why={isEmpty(filters) ? t('audit.none') : t('audit.noMatch')} /> : null}
      />
      {rows.length < total && <Button onClick={more}>{t('audit.more')}</Button>}
    </div>
  );
}

const idOf = ({ seq }: AuditRow): string => String(seq);
const detailsOf = (row: AuditRow) => <pre className="audit-details">{JSON.stringify(row, null, 2)}</pre>;
const nameOf = ({ event_type: what, target_id: id }: AuditRow): string => `${what} ${id}`;

const columnsIn = (t: Translator): readonly Column<AuditRow>[] => [
  { id: 'seq', title: t('audit.seq'), width: '44px', cell: ({ seq }) => seq, align: 'end' },
  {
    id: 'at',
    title: t('audit.at'),
    width: '190px',
    cell: ({ at }) => (
      <span className="audit-at">
        <Time at={at} style="absolute" />
      </span>
    ),
  },
  { id: 'what', title: t('audit.type'), width: '170px', cell: row => <code>{row.event_type}</code> },
  {
    id: 'who',
    title: t('audit.actor'),
    width: '148px',
    cell: row => `${row.actor_id ?? row.actor_type}${row.address === null ? '' : ` (${row.address})`}`,
  },
  {
    id: 'target',
    title: t('audit.target'),
    width: '136px',
    cell: row => <Target type={row.target_type} id={row.target_id} />,
  },
  {
    id: 'details',
    title: t('audit.details'),
    width: 'minmax(120px, 1fr)',
    cell: row => <code>{JSON.stringify(row.details)}</code>,
  },
];

type AuditRow = ValueOf<typeof auditApi.list>['entries'][number];

const pageSize = 200;
/** Delay between the last change of a filter and the request for rows. */
const typingDelayMs = 250;

interface LoadedRows {
  readonly rows: readonly AuditRow[];
  readonly total: number;
  /** False until the first rows have been read. */
  readonly isRead: boolean;
}

/** Loads the newest matching rows, and more on request. */
function useRows(filters: AuditFilters) {
  const { client } = usePanel();
  const [loaded, setLoaded] = useState<LoadedRows>({ rows: [], total: 0, isRead: false });
  const [failure, setFailure] = useState<CallFailure | null>(null);
  const load = useCallback(
    async (offset: number, signal?: AbortSignal) => {
      const query = { ...toQuery(filters), limit: pageSize, offset };
      const answer = await client.call(auditApi.list, { query, ...(signal && { signal }) });
      if (signal?.aborted === true) return;
      setFailure(answer.ok ? null : answer.failure);
      if (!answer.ok) return;
      const { entries, total } = answer.value;
      setLoaded(was => ({ rows: offset === 0 ? entries : [...was.rows, ...entries], total, isRead: true }));
    },
    [client, filters],
  );
  useEffect(() => {
    const loading = new AbortController();
    const timer = setTimeout(() => void load(0, loading.signal), typingDelayMs);
    return () => {
      clearTimeout(timer);
      loading.abort();
    };
  }, [load]);
  return {
    ...loaded,
    failure,
    more: () => void load(loaded.rows.length),
    retry: () => void load(0),
  };
}
