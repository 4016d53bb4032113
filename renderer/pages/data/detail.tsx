import { useCallback, useState } from 'react';
import { Link } from 'wouter';
import type { DatasetView } from '../../../protocol/datasets-api.ts';
import { useT } from '../../i18n/index.ts';
import { Empty } from '../../ui/empty.tsx';
import { Table } from '../../ui/table.tsx';
import { shortVersion } from './cells.tsx';
import { useVersionColumns } from './columns.tsx';
import { type Dataset, datasetWith } from './datasets.ts';
import { useDeletion } from './use-deletion.tsx';
import { type DatasetsRead, LoadFailure } from './use-datasets.tsx';

interface DatasetPageProps {
  /** The id of any version of the dataset. */
  readonly id: string;
  readonly read: DatasetsRead;
}

export function DatasetPage({ id, read: { answer, datasets, failure, reload } }: DatasetPageProps) {
  const t = useT();
  const [key, setKey] = useState<string | null>(null);
  const current = datasetWith(datasets, id);
  if (current !== undefined && current.key !== key) setKey(current.key);
  // The version in the URL may have just been deleted, so keep showing its dataset.
  const dataset = current ?? datasets.find(each => each.key === key);
  return (
    <div className="page data-page" aria-busy={answer === null && failure === null}>
      <nav className="crumb" aria-label={t('data.back')}>
        <Link href="/data">{t('data.back')}</Link>
      </nav>
      <LoadFailure failure={failure} onRetry={reload} />
      {dataset !== undefined && <Versions dataset={dataset} onDone={reload} />}
      {dataset === undefined && answer !== null && <Empty why={t('data.notFound')} />}
    </div>
  );
}

const idOf = ({ id }: DatasetView): string => String(id);

function Versions({ dataset, onDone }: { readonly dataset: Dataset; readonly onDone: () => void }) {
  const t = useT();
  const { requestDeletion, dialog } = useDeletion(onDone);
  const columns = useVersionColumns(dataset, requestDeletion, onDone);
  const nameOf = useCallback(
    ({ version }: DatasetView) => t('data.versionName', { version: shortVersion(version) }),
    [t],
  );
  return (
    <>
      <div className="data-title">
        <h1 translate="no">{dataset.name}</h1>
        <span className="muted">{t('data.ownedBy', { owner: dataset.owner })}</span>
        <span className="muted">{t('data.versions', { count: dataset.versions.length })}</span>
      </div>
      <Table
        label={t('data.versionsOf', { name: dataset.name })}
        columns={columns}
        rows={dataset.versions}
        idOf={idOf}
        nameOf={nameOf}
        empty={null}
      />
      {dialog}
    </>
  );
}
