import { useMemo } from 'react';
import type { WorkerView } from '../../../protocol/worker.ts';
import { type FleetTranslator, useFleetTexts } from '../../app/fleet-texts.ts';
import type { Column } from '../../ui/table.tsx';
import { totalPower } from '../overview/fleet/gpu-cells.ts';
import { ContactCell, GpusCell, JobCell, LoadCell, NameCell, StateCell } from './cells.tsx';
import { FigureCell, TextCell } from './figure-cells.tsx';
import { LabelsCell } from './labels.tsx';
import { SelectCell } from './selection.tsx';
import { hottest, shownState, shownStates } from './facts.ts';
import { WorkerMenu } from './worker-menu.tsx';

/** Returns the columns of the table. Cells subscribe to the store for data that changes more often than the worker. */
export function useColumns(): readonly Column<WorkerView>[] {
  const t = useFleetTexts();
  return useMemo(
    (): readonly Column<WorkerView>[] => [
      {
        id: 'select',
        title: t('workers.column.select'),
        width: '20px',
        cell: worker => <SelectCell worker={worker} />,
      },
      {
        id: 'state',
        title: t('workers.column.state'),
        width: 'minmax(132px, 1.2fr)',
        phoneWidth: '96px',
        cell: worker => <StateCell worker={worker} />,
        sortBy: worker => shownStates.indexOf(shownState(worker)),
      },
      {
        id: 'name',
        title: t('workers.column.name'),
        width: 'minmax(104px, 1fr)',
        phoneWidth: '76px',
        cell: worker => <NameCell worker={worker} />,
        sortBy: worker => worker.name,
      },
      {
        id: 'job',
        title: t('workers.column.job'),
        width: 'minmax(120px, 1.6fr)',
        phoneWidth: '121px',
        cell: worker => <JobCell worker={worker} showsFree />,
        sortBy: worker => worker.current_job_id ?? '',
      },
      {
        id: 'gpus',
        title: t('workers.column.gpus'),
        width: 'minmax(164px, 1.6fr)',
        cell: worker => <GpusCell worker={worker} />,
        sortBy: worker => worker.gpu_count,
      },
      {
        id: 'load',
        title: t('workers.column.load'),
        width: '108px',
        cell: worker => <LoadCell worker={worker} />,
        sortBy: worker => worker.gpu_utilization ?? -1,
      },
      {
        id: 'labels',
        title: t('workers.column.labels'),
        width: 'minmax(120px, 1.6fr)',
        cell: worker => <LabelsCell worker={worker} />,
      },
      {
        id: 'contact',
        title: t('workers.column.contact'),
        width: 'minmax(102px, 0.8fr)',
        cell: worker => <ContactCell worker={worker} />,
        sortBy: worker => worker.last_heartbeat ?? '',
      },
      ...figureColumns(t),
      {
        id: 'acts',
        title: t('workers.column.acts'),
        width: '40px',
        cell: worker => <WorkerMenu worker={worker} />,
      },
    ],
    [t],
  );
}

/** Returns the columns that are hidden by default. */
const figureColumns = (t: FleetTranslator): readonly Column<WorkerView>[] => [
  {
    id: 'temperature',
    title: t('column.temperature'),
    width: '90px',
    cell: worker => <FigureCell value={hottest(worker)} unit="fleet.celsius" />,
    sortBy: hottest,
  },
  {
    id: 'power',
    title: t('column.power'),
    width: '90px',
    cell: worker => <FigureCell value={totalPower([worker])} unit="fleet.watts" />,
    sortBy: worker => totalPower([worker]),
  },
  {
    id: 'host',
    title: t('workers.detail.host'),
    width: 'minmax(110px, 1fr)',
    cell: ({ host }) => <TextCell text={host} />,
    sortBy: ({ host }) => host,
  },
  {
    id: 'agent',
    title: t('workers.detail.agent'),
    width: 'minmax(90px, 0.6fr)',
    cell: ({ agent_version: version }) => <TextCell text={version} />,
    sortBy: ({ agent_version: version }) => version,
  },
];
