import { useCallback, useMemo } from 'react';
import { useLocation } from 'wouter';
import { shownName } from '../../../protocol/job-about.ts';
import { queueApi } from '../../../protocol/queue-api.ts';
import { useFleet, useMay } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { perLanguage } from '../../i18n/formats.ts';
import { type Translator, useT } from '../../i18n/index.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Icon } from '../../ui/icon.tsx';
import { type Column, Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { ConfigCell, MenuCell, PriorityCell, WhyWaiting } from '../jobs/cells.tsx';
import { useJobActions, mayActOnJobs } from '../jobs/job-actions.tsx';
import { createRowCache, toQueueRows, type QueueRow, useQueueOrder } from './order.ts';
const idOf = ({ job }: QueueRow): string => job.id;

/** Table of the pending jobs in dispatch order. */
export function PendingJobs() {
  const t = useT();
  const may = useMay();
  const [, go] = useLocation();
  const jobs = useFleet(({ fleet }) => fleet.jobs);
  const order = useQueueOrder();
  const placed = useMemo(createRowCache, []);
  const rows = useMemo(() => toQueueRows(jobs, order, placed), [jobs, order, placed]);
  const nameOf = useCallback(
    ({ job, place }: QueueRow) =>
      t('queue.rowName', { position: placeText(place, t), config: shownName(job) }),
    [t],
  );
  const columns = useMemo(
    () => (mayActOnJobs(may) ? [...lineColumns(t), actsColumn(t)] : lineColumns(t)),
    [t, may],
  );
  return (
    <section className="line" aria-labelledby="queue-order">
      <h2 id="queue-order">{t('queue.order')}</h2>
      <p className="muted">{t('queue.explain')}</p>
      <Table
        label={t('queue.order')}
        columns={columns}
        rows={rows}
        idOf={idOf}
        nameOf={nameOf}
        onOpen={({ job }) => go(`/jobs/${job.id}`)}
        empty={<Empty why={t('queue.none')} />}
      />
    </section>
  );
}

const lineColumns = (t: Translator): readonly Column<QueueRow>[] => [
  {
    id: 'place',
    title: t('queue.column.position'),
    width: '60px',
    align: 'end',
    cell: ({ place }) => placeText(place, t),
  },
  {
    id: 'job',
    title: t('queue.column.job'),
    width: 'minmax(110px, 1fr)',
    cell: ({ job }) => <ConfigCell job={job} />,
  },
  {
    id: 'why',
    title: t('queue.column.why'),
    width: 'minmax(220px, 2fr)',
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
