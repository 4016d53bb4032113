import { useParams, useLocation, useSearchParams } from 'wouter';
import './data.css';
import { DatasetPage } from './detail.tsx';
import { useDatasets, type DatasetsRead, LoadFailure } from './use-datasets.tsx';
import { useCallback, useMemo } from 'react';
import { datasetsApi } from '../../../protocol/datasets-api.ts';
import { Allowed } from '../../app/guarded.tsx';
import { useT } from '../../i18n/index.ts';
import { Button, Command } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Table } from '../../ui/table.tsx';
import { useDatasetColumns } from './columns.tsx';
import { type Dataset, isUnused, matching, computeUnused } from './datasets.ts';
import { useDeletion } from './use-deletion.tsx';
import type { ValueOf } from '../../../protocol/client.ts';
import { sizeText } from '../jobs/figures.ts';

export function DataPage() {
  const { id } = useParams<{ readonly id?: string }>();
  const read = useDatasets();
  return id === undefined ? <DatasetList read={read} /> : <DatasetPage id={id} read={read} />;
}

const keyOf = ({ key }: Dataset): string => key;

function DatasetList({ read }: { readonly read: DatasetsRead }) {
  const t = useT();
  const [, go] = useLocation();
  const [text, setText] = useSearchText();
  const { answer, datasets, failure, reload } = read;
  const { requestDeletion, dialog } = useDeletion(reload);
  const rows = useMemo(() => matching(datasets, text), [datasets, text]);
  const columns = useDatasetColumns(requestDeletion, reload);
  const nameOf = useCallback(({ name, owner }: Dataset) => t('data.rowName', { name, owner }), [t]);
  const isEmpty = answer !== null && datasets.length === 0;
  const old = answer?.datasets.filter(version => !version.newest && isUnused(version)) ?? [];
  return (
    <div className="page data-page" aria-busy={answer === null && failure === null}>
      <div className="page-head">
        <h1>{t('nav.data')}</h1>
        {old.length > 0 && (
          <Allowed call={datasetsApi.prune}>
            <Button onClick={() => requestDeletion({ kind: 'old', versions: old })}>
              {t('data.act.deleteOld')}
            </Button>
          </Allowed>
        )}
      </div>
      <LoadFailure failure={failure} onRetry={reload} />
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

/** Keeps the search text in the URL, so that a link shows the same datasets. */
function useSearchText(): readonly [string, (text: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = (text: string): void => setParams(text === '' ? {} : { q: text }, { replace: true });
  return [params.get('q') ?? '', set];
}

/** Shows how much is stored, and how much of it could be deleted. */
function Figures({ answer }: { readonly answer: ValueOf<typeof datasetsApi.list> }) {
  const t = useT();
  const { datasets, stored_bytes: stored, limit_bytes: limit } = answer;
  const unused = computeUnused(datasets, stored);
  const size = sizeText(stored, t.language);
  return (
    <dl className="data-figures">
      <div>
        <dt>{t('data.figure.stored')}</dt>
        <dd>
          {limit === null ? size : t('data.figure.storedOf', { size, limit: sizeText(limit, t.language) })}
        </dd>
      </div>
      <div>
        <dt>{t('data.figure.unused')}</dt>
        <dd>
          {t('data.figure.unusedIs', { count: unused.count, size: sizeText(unused.bytes, t.language) })}
        </dd>
        {unused.count > 0 && <dd className="muted hint">{t('data.figure.unused.what')}</dd>}
      </div>
    </dl>
  );
}

/** Shown when there are no datasets, with the upload commands for users who may upload. */
function NoData() {
  const t = useT();
  return (
    <Empty why={t('data.none')}>
      <Allowed call={datasetsApi.publish}>
        <p>{t('data.none.submit')}</p>
        <Command text="trainyard jobs submit FILE" />
        <p>{t('data.none.push')}</p>
        <Command text="trainyard data push FOLDER" />
      </Allowed>
    </Empty>
  );
}
