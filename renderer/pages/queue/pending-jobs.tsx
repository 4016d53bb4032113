import { useCallback, useMemo, useRef } from 'react';
import { useLocation } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { QueueView } from '../../../protocol/queue.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, useMay, usePanel } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { perLanguage } from '../../i18n/formats.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type Column, Table, type TableControl } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { showFailure } from '../../ui/toast.tsx';
import { ConfigCell, MenuCell, PriorityCell, WhyWaiting } from '../jobs/cells.tsx';
import { useJobActions, mayActOnJobs } from '../jobs/job-actions.tsx';
import { DragArea } from './drag-area.tsx';
import { Grip } from './grip.tsx';
import type { Target } from './moves.ts';
import { createRowCache, type Order, toQueueRows, type QueueRow } from './order.ts';
import { TeamTurns } from './team-turns.tsx';
import { type QueueTranslator, useQueueT } from './texts.ts';
import { useMoving } from './use-moving.ts';

const idOf = ({ job }: QueueRow): string => job.id;
const noRows: readonly QueueRow[] = [];

interface PendingJobsProps {
  readonly order: Order | null;
  readonly readAgain: () => Promise<void>;
  readonly queue: QueueView;
}

/** Table of the pending jobs in dispatch order. */
export function PendingJobs({ order, readAgain, queue }: PendingJobsProps) {
  const t = useQueueT();
  const may = useMay();
  const { client } = usePanel();
  const [, go] = useLocation();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const rowCache = useMemo(createRowCache, []);
  const rows = useMemo(
    () => (order === null ? noRows : toQueueRows(jobs, order, rowCache)),
    [jobs, order, rowCache],
  );
  const nameOf = useCallback(
    ({ job, place }: QueueRow) =>
      t('queue.rowName', { position: placeText(place, t), config: shownName(job) }),
    [t],
  );
  const mayMove = may(queueApi.move);
  const columns = useMemo(
    () => [
      ...(mayMove ? [gripColumn(t)] : []),
      ...lineColumns(t),
      ...(mayActOnJobs(may) ? [actsColumn(t)] : []),
    ],
    [t, may, mayMove],
  );
  const table = useRef<TableControl<QueueRow>>(null);
  const send = async (id: JobId, { id: to, side }: Target): Promise<boolean> => {
    const body = side === 'before' ? { before: to } : { after: to };
    const answer = await client.call(queueApi.move, { params: { id }, body });
    if (answer.ok) await readAgain();
    else showFailure(t, answer.failure);
    return answer.ok;
  };
  const control = useMoving({ table, send });
  const byId = useMemo(() => new Map(rows.map(row => [row.job.id as string, row])), [rows]);
  return (
    <section className="line" aria-labelledby="queue-order">
      <h2 id="queue-order">{t('queue.order')}</h2>
      <p className="muted">{t('queue.explain')}</p>
      <TeamTurns queue={queue} />
      <DragArea control={control} rowOf={id => byId.get(id)}>
        <Table
          control={table}
          keptId={control.keptId}
          label={t('queue.order')}
          columns={columns}
          rows={rows}
          idOf={idOf}
          nameOf={nameOf}
          onOpen={({ job }) => go(`/jobs/${job.id}`)}
          isBusy={order === null}
          empty={order === null ? null : <Empty why={t('queue.none')} />}
        />
      </DragArea>
    </section>
  );
}

const gripColumn = (t: QueueTranslator): Column<QueueRow> => ({
  id: 'grip',
  title: t('queue.column.grip'),
  isTitleHidden: true,
  width: '28px',
  cell: ({ job }) => <Grip job={job} />,
});

const lineColumns = (t: Translator): readonly Column<QueueRow>[] => [
  {
    id: 'place',
    title: t('queue.column.position'),
    width: '60px',
    phoneWidth: '24px',
    align: 'end',
    cell: ({ place }) => placeText(place, t),
  },
  {
    id: 'job',
    title: t('queue.column.job'),
    width: 'minmax(110px, 1fr)',
    phoneWidth: '100px',
    cell: ({ job }) => <ConfigCell job={job} />,
  },
  {
    id: 'why',
    title: t('queue.column.why'),
    width: 'minmax(220px, 2fr)',
    phoneWidth: '156px',
    cell: ({ job }) => <WhyWaiting job={job} />,
  },
  {
    id: 'priority',
    title: t('queue.column.priority'),
    width: '96px',
    cell: ({ job }) => <PriorityCell job={job} />,
  },
  {
    id: 'waits',
    title: t('queue.column.waits'),
    width: '110px',
    cell: ({ job }) => <Time at={job.queued_at} />,
  },
];

const actsColumn = (t: Translator): Column<QueueRow> => ({
  id: 'menu',
  title: t('jobs.column.menu'),
  isTitleHidden: true,
  width: '150px',
  align: 'end',
  cell: row => <RowActions row={row} />,
});

const placeFormat = perLanguage(language => new Intl.NumberFormat(language));

const placeText = (place: number | null, t: Translator): string =>
  place === null ? t('time.none') : placeFormat(t.language).format(place);

function RowActions({ row: { job, place } }: { readonly row: QueueRow }) {
  const t = useT();
  const { perform } = useJobActions();
  return (
    <span className="line-acts">
      {place !== 1 && (
        <Allowed call={queueApi.moveToTop}>
          <Button
            kind="quiet"
            aria-label={t('queue.topOf', { config: shownName(job) })}
            onClick={() => perform('top', job)}
          >
            <Icon name="top" />
            {t('queue.top')}
          </Button>
        </Allowed>
      )}
      <MenuCell job={job} />
    </span>
  );
}
