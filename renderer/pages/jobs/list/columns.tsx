import { useMemo } from 'react';
import { shownName } from '../../../../protocol/job-about.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { May } from '../../../api/session.ts';
import { useMay } from '../../../app/context.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { State } from '../../../ui/indicators.tsx';
import type { Column } from '../../../ui/table.tsx';
import { absolute } from '../../../ui/time.tsx';
import * as cells from '../cells.tsx';
import { maySelect } from './bulk.tsx';
import { shownState } from './filter.ts';
import { sortValues } from './job-order.ts';
import { mayActOnJobs } from '../job-actions.tsx';

export type Toggle = (id: JobId) => void;

/** Returns the columns of the job list. Omits menu and checkbox for users who may perform no action on jobs. */
export function useJobColumns(
  chosen: ReadonlySet<JobId>,
  toggle: Toggle,
  configColumns: readonly Column<JobView>[],
): readonly Column<JobView>[] {
  const t = useT();
  const may = useMay();
  const plain = useMemo(
    () => [
      ...withConfigValues(plainColumns(t), configColumns),
      ...(mayActOnJobs(may) ? [menuColumn(t)] : []),
    ],
    [t, may, configColumns],
  );
  return useMemo(
    () => (maySelect(undefined, may) ? [selectColumn(t, may, chosen, toggle), ...plain] : plain),
    [t, may, chosen, toggle, plain],
  );
}

/** Inserts the columns with config values after the name column. */
function withConfigValues(
  plain: readonly Column<JobView>[],
  configColumns: readonly Column<JobView>[],
): readonly Column<JobView>[] {
  const afterName = plain.findIndex(({ id }) => id === 'name') + 1;
  return plain.toSpliced(afterName, 0, ...configColumns);
}

const selectColumn = (
  t: Translator,
  may: May,
  chosen: ReadonlySet<JobId>,
  toggle: Toggle,
): Column<JobView> => ({
  id: 'select',
  title: t('jobs.column.select'),
  isTitleHidden: true,
  width: '20px',
  cell: job => (
    <input
      type="checkbox"
      aria-label={t('jobs.select', {
        config: shownName(job),
        time: absolute(Date.parse(job.queued_at), t),
      })}
      disabled={!maySelect(job, may)}
      checked={chosen.has(job.id)}
      onChange={() => toggle(job.id)}
    />
  ),
});

const plainColumns = (t: Translator): readonly Column<JobView>[] => [
  {
    id: 'state',
    title: t('jobs.column.state'),
    width: '104px',
    phoneWidth: '18px',
    cell: job => <State name={shownState(job)} />,
    sortBy: sortValues.state,
  },
  {
    id: 'name',
    title: t('jobs.column.config'),
    width: 'minmax(142px, 1.5fr)',
    phoneWidth: '112px',
    cell: job => <cells.ConfigCell job={job} />,
    sortBy: sortValues.name,
  },
  {
    id: 'progress',
    title: t('jobs.column.progress'),
    width: 'minmax(206px, 1.7fr)',
    phoneWidth: '163px',
    cell: job => <cells.ProgressCell job={job} />,
    sortBy: sortValues.progress,
  },
  {
    id: 'eta',
    title: t('jobs.column.eta'),
    width: '72px',
    cell: job => <cells.EtaCell job={job} />,
    sortBy: sortValues.eta,
  },
  {
    id: 'best_loss',
    title: t('jobs.column.bestLoss'),
    hint: t('jobs.bestLoss.what'),
    width: '64px',
    align: 'end',
    cell: job => <cells.LossCell job={job} />,
    sortBy: sortValues.best_loss,
  },
  {
    id: 'worker',
    title: t('jobs.column.worker'),
    width: 'minmax(102px, 0.6fr)',
    cell: job => <cells.WorkerCell job={job} />,
    sortBy: sortValues.worker,
  },
  {
    id: 'priority',
    title: t('jobs.column.priority'),
    width: '76px',
    cell: job => <cells.PriorityCell job={job} />,
    sortBy: sortValues.priority,
  },
  {
    id: 'submitted',
    title: t('jobs.column.submitted'),
    width: '92px',
    cell: job => <cells.SubmittedCell job={job} />,
    sortBy: sortValues.submitted,
  },
];

const menuColumn = (t: Translator): Column<JobView> => ({
  id: 'menu',
  title: t('jobs.column.menu'),
  isTitleHidden: true,
  width: '44px',
  align: 'end',
  cell: job => <cells.MenuCell job={job} />,
});
