import { useMemo } from 'react';
import { Link } from 'wouter';
import { workersApi } from '../../../protocol/admin-api.ts';
import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { useMay } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import type { Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { Count, Pinned, Rigs, Size, Version } from './cells.tsx';
import type { Dataset } from './datasets.ts';
import { DatasetMenu, VersionMenu } from './menus.tsx';
import type { RequestDeletion } from './use-deletion.tsx';

const pinnedText = ({ pinned, versions: { length: count } }: Dataset, t: Translator): string =>
  count === 1 ? t('data.pinned') : t('data.pinnedOf', { pinned, count });

/** Columns of the list: a row is a dataset with the figures of its newest version. */
export function useDatasetColumns(
  requestDeletion: RequestDeletion,
  onDone: () => void,
): readonly Column<Dataset>[] {
  const t = useT();
  const may = useMay();
  const mayChange = may(datasetsApi.pin);
  const seesWorkers = may(workersApi.list);
  return useMemo(() => {
    const plain = datasetColumns(t, seesWorkers);
    if (!mayChange) return plain;
    return [
      ...plain,
      menuColumn(t, row => <DatasetMenu dataset={row} onDelete={requestDeletion} onDone={onDone} />),
    ];
  }, [t, mayChange, seesWorkers, requestDeletion, onDone]);
}

/** Columns of one dataset: a row is a version. */
export function useVersionColumns(
  { name, versions }: Pick<Dataset, 'name' | 'versions'>,
  requestDeletion: RequestDeletion,
  onDone: () => void,
): readonly Column<DatasetView>[] {
  const t = useT();
  const may = useMay();
  const mayChange = may(datasetsApi.pin);
  const seesWorkers = may(workersApi.list);
  const isOnly = versions.length === 1;
  return useMemo(() => {
    const plain = versionColumns(t, seesWorkers);
    if (!mayChange) return plain;
    const menu = (version: DatasetView) => (
      <VersionMenu
        version={version}
        onDelete={() =>
          requestDeletion(
            isOnly
              ? { kind: 'dataset', name, versions: [version] }
              : { kind: 'versions', name, versions: [version] },
          )
        }
        onDone={onDone}
      />
    );
    return [...plain, menuColumn(t, menu)];
  }, [t, mayChange, seesWorkers, isOnly, name, requestDeletion, onDone]);
}

const menuColumn = <R,>(t: Translator, cell: Column<R>['cell']): Column<R> => ({
  id: 'menu',
  title: t('data.column.menu'),
  isTitleHidden: true,
  width: '44px',
  align: 'end',
  cell,
});

/** The column with the rigs that have a version, for users who may list workers. */
const rigColumns = <R,>(
  t: Translator,
  seesWorkers: boolean,
  versionOf: (row: R) => DatasetView,
): readonly Column<R>[] =>
  seesWorkers
    ? [
        {
          id: 'workers',
          title: t('data.column.workers'),
          width: 'minmax(120px, 1.5fr)',
          cell: row => <Rigs dataset={versionOf(row)} />,
          sortBy: row => versionOf(row).workers_count ?? null,
        },
      ]
    : [];

const datasetColumns = (t: Translator, seesWorkers: boolean): readonly Column<Dataset>[] => [
  {
    id: 'name',
    title: t('data.column.name'),
    width: 'minmax(190px, 2fr)',
    cell: ({ name, newest, versions }) => (
      <span className="data-name">
        <Link href={`/data/${newest.id}`} title={name} translate="no">
          {name}
        </Link>
        <span className="muted data-version">
          <Version version={newest.version} />
          {versions.length > 1 && t('data.versions', { count: versions.length })}
        </span>
      </span>
    ),
    sortBy: ({ name }) => name,
  },
  ...rigColumns(t, seesWorkers, (row: Dataset) => row.newest),
  {
    id: 'files',
    title: t('data.column.files'),
    width: '72px',
    align: 'end',
    cell: ({ newest }) => <Count value={newest.files} />,
    sortBy: ({ newest }) => newest.files,
  },
  {
    id: 'size',
    title: t('data.column.size'),
    width: '80px',
    align: 'end',
    cell: ({ newest }) => <Size bytes={newest.bytes} />,
    sortBy: ({ newest }) => newest.bytes,
  },
  {
    id: 'owner',
    title: t('data.column.owner'),
    width: 'minmax(90px, 1fr)',
    cell: ({ owner }) => (
      <span translate="no" title={owner}>
        {owner}
      </span>
    ),
    sortBy: ({ owner }) => owner,
  },
  {
    id: 'pushed',
    title: t('data.column.pushed'),
    width: '110px',
    cell: ({ newest }) => <Time at={newest.created_at} />,
    sortBy: ({ newest }) => newest.created_at,
  },
  {
    id: 'jobs',
    title: t('data.column.jobs'),
    width: '64px',
    align: 'end',
    cell: ({ jobs }) => <Count value={jobs} />,
    sortBy: ({ jobs }) => jobs,
  },
  {
    id: 'pinned',
    title: t('data.column.pinned'),
    width: '104px',
    cell: dataset => dataset.pinned > 0 && <Pinned text={pinnedText(dataset, t)} />,
    sortBy: ({ pinned }) => pinned,
  },
];

const versionColumns = (t: Translator, seesWorkers: boolean): readonly Column<DatasetView>[] => [
  {
    id: 'version',
    title: t('data.column.version'),
    width: 'minmax(190px, 2fr)',
    cell: ({ version, newest }) => (
      <span className="data-version">
        <Version version={version} />
        {newest && <span className="chip">{t('data.newest')}</span>}
      </span>
    ),
  },
  {
    id: 'files',
    title: t('data.column.files'),
    width: 'minmax(72px, 1fr)',
    align: 'end',
    cell: ({ files }) => <Count value={files} />,
    sortBy: ({ files }) => files,
  },
  {
    id: 'size',
    title: t('data.column.size'),
    width: 'minmax(80px, 1fr)',
    align: 'end',
    cell: ({ bytes }) => <Size bytes={bytes} />,
    sortBy: ({ bytes }) => bytes,
  },
  {
    id: 'pushed',
    title: t('data.column.pushed'),
    width: 'minmax(110px, 1fr)',
    cell: ({ created_at: at }) => <Time at={at} />,
    sortBy: ({ created_at: at }) => at,
  },
  {
    id: 'jobs',
    title: t('data.column.jobs'),
    width: 'minmax(64px, 1fr)',
    align: 'end',
    cell: ({ jobs }) => <Count value={jobs} />,
    sortBy: ({ jobs }) => jobs,
  },
  ...rigColumns(t, seesWorkers, (row: DatasetView) => row),
  {
    id: 'pinned',
    title: t('data.column.pinned'),
    width: 'minmax(104px, 1fr)',
    cell: ({ pinned }) => pinned && <Pinned text={t('data.pinned')} />,
    sortBy: ({ pinned }) => (pinned ? 1 : 0),
  },
];
