import { useCallback, useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Table } from '../../ui/table.tsx';
import { useDatasetColumns } from './columns.tsx';
import { type Dataset, isUnused, matching } from './datasets.ts';
import { Figures } from './data-figures.tsx';
import { NoData } from './no-data.tsx';
import { Trouble } from './trouble.tsx';
import { useDeletion } from './use-deletion.tsx';
import type { DatasetsRead } from './use-datasets.ts';

const keyOf = ({ key }: Dataset): string => key;

export function DatasetList({ read }: { readonly read: DatasetsRead }) {
  const t = useT();
  const [, go] = useLocation();
  const [text, setText] = useSearchText();
  const { answer, datasets, failure, reload } = read;
  const { ask, dialog } = useDeletion(reload);
  const rows = useMemo(() => matching(datasets, text), [datasets, text]);
  const columns = useDatasetColumns(ask, reload);
  const nameOf = useCallback(({ name, owner }: Dataset) => t('data.rowName', { name, owner }), [t]);
  const isEmpty = answer !== null && datasets.length === 0;
  const old = answer?.datasets.filter(version => !version.newest && isUnused(version)) ?? [];
  return (
    <div className="page data-page" aria-busy={answer === null && failure === null}>
      <div className="page-head">
        <h1>{t('nav.data')}</h1>
        {old.length > 0 && (
          <Allowed call={datasetsApi.prune}>
            <Button onClick={() => ask({ kind: 'old', versions: old })}>{t('data.act.deleteOld')}</Button>
          </Allowed>
        )}
      </div>
      <Trouble failure={failure} onRetry={reload} />
      {isEmpty && (
        <section className="card">
          <NoData />
        </section>
      )}
      {answer !== null && !isEmpty && (
        <>
          <Figures answer={answer} />
          <div className="data-search">
            <input
              type="search"
              aria-label={t('data.search')}
              placeholder={t('data.search.hint')}
              maxLength={200}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
            <span className="muted" role="status">
              {t('data.shown', { count: rows.length })}
            </span>
          </div>
          <Table
            label={t('data.table')}
            columns={columns}
            rows={rows}
            idOf={keyOf}
            nameOf={nameOf}
            onOpen={({ newest }) => go(`/data/${newest.id}`)}
            empty={
              <Empty why={t('data.noMatch')}>
                <Button onClick={() => setText('')}>{t('data.search.clear')}</Button>
              </Empty>
            }
          />
        </>
      )}
      {dialog}
    </div>
  );
}

/** The search text is in the URL, so that a link shows the same datasets. */
function useSearchText(): readonly [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (text: string): void => setParams(text === '' ? {} : { q: text }, { replace: true });
  return [params.get('q') ?? '', set];
}
