import { type DatasetView, datasetsApi } from '../../../protocol/datasets-api.ts';
import { usePanel } from '../../app/context.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Menu, type MenuItem } from '../../ui/menu.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { shortVersion } from './cells.tsx';
import { type Dataset, isUnused } from './datasets.ts';
import type { RequestDeletion } from './use-deletion.tsx';

interface DatasetMenuProps {
  readonly dataset: Dataset;
  readonly onDelete: RequestDeletion;
  readonly onDone: () => void;
}

/** Actions for the newest version, and for all unused versions. */
export function DatasetMenu({ dataset, onDelete, onDone }: DatasetMenuProps) {
  const t = useT();
  const { may } = usePanel();
  const setPin = usePin(onDone);
  const { name, owner, newest, versions } = dataset;
  if (!may(datasetsApi.pin, { user: owner })) return null;
  const unused = versions.filter(isUnused);
  const isWhole = unused.length === versions.length;
  const items: readonly MenuItem[] = [
    {
      id: 'pin',
      text: t(newest.pinned ? 'data.act.unpinNewest' : 'data.act.pinNewest'),
      onSelect: () => setPin(newest, !newest.pinned),
    },
    {
      id: 'delete',
      text: t(isWhole || unused.length === 0 ? 'data.act.delete' : 'data.act.deleteUnused'),
      isDanger: true,
      reason: allKeptReason(dataset, unused, t),
      onSelect: () => onDelete({ kind: isWhole ? 'dataset' : 'versions', name, versions: unused }),
    },
  ];
  return <Menu label={t('data.more', { name })} items={items} />;
}

interface VersionMenuProps {
  readonly version: DatasetView;
  readonly onDelete: () => void;
  readonly onDone: () => void;
}

export function VersionMenu({ version, onDelete, onDone }: VersionMenuProps) {
  const t = useT();
  const { may } = usePanel();
  const setPin = usePin(onDone);
  if (!may(datasetsApi.pin, { user: version.owner })) return null;
  const items: readonly MenuItem[] = [
    {
      id: 'pin',
      text: t(version.pinned ? 'data.act.unpin' : 'data.act.pin'),
      onSelect: () => setPin(version, !version.pinned),
    },
    {
      id: 'delete',
      text: t('data.act.delete'),
      isDanger: true,
      reason: keptReason(version, t),
      onSelect: onDelete,
    },
  ];
  return <Menu label={t('data.more', { name: shortVersion(version.version) })} items={items} />;
}

/** Pinning destroys nothing, so it needs no confirmation. */
function usePin(onDone: () => void) {
  const t = useT();
  const { client } = usePanel();
  return (version: DatasetView, pinned: boolean): void => {
    void client.call(datasetsApi.pin, { params: { id: version.id }, body: { pinned } }).then(answer => {
      if (!answer.ok) showFailure(t, answer.failure);
      onDone();
    });
  };
}

/** Returns why the version cannot be deleted; null when it can. */
function keptReason({ jobs, pinned }: DatasetView, t: Translator): string | null {
  if (jobs > 0) return t('data.kept.jobs', { count: jobs });
  return pinned ? t('data.kept.pinned') : null;
}

function allKeptReason({ newest, versions }: Dataset, unused: readonly DatasetView[], t: Translator) {
  if (unused.length > 0) return null;
  return versions.length === 1 ? keptReason(newest, t) : t('data.kept.all');
}
