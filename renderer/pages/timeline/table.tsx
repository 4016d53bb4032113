import { useCallback, useMemo } from 'react';
import { useLocation } from 'wouter';
import { JobLink } from '../../app/links.tsx';
import { perLocale } from '../../i18n/formats.ts';
import { type Column, Table } from '../../ui/table.tsx';
import type { Layout, PlacedBar } from './layout.ts';
import { barText, stateText, type TimelineTranslator, useTimelineT } from './texts.tsx';

interface AttemptTableProps {
  readonly layout: Layout;
  readonly bars: readonly PlacedBar[];
  readonly now: number;
}

const momentFormat = perLocale({ dateStyle: 'medium', timeStyle: 'medium' });
/** Formats without seconds, because a predicted end is not exact to the second. */
const shortMomentFormat = perLocale({ dateStyle: 'medium', timeStyle: 'short' });
const keyOf = ({ bar }: PlacedBar): string => bar.key;

/** The bars of the visible range as a table. */
export function AttemptTable({ layout, bars, now }: AttemptTableProps) {
  const t = useTimelineT();
  const [, go] = useLocation();
  const workerOf = useCallback(
    ({ row, bar }: PlacedBar): string => layout.rows[row]?.name ?? bar.workerId,
    [layout],
  );
  const columns = useMemo(() => columnsOf(t, workerOf), [t, workerOf]);
  const nameOf = useCallback((bar: PlacedBar) => barText(t, bar, workerOf(bar), now), [t, workerOf, now]);
  return (
    <Table
      label={t('timeline.table')}
      columns={columns}
      rows={bars}
      idOf={keyOf}
      nameOf={nameOf}
      onOpen={({ bar }) => go(`/jobs/${bar.jobId}`)}
      empty={<p>{t('timeline.noBars')}</p>}
    />
  );
}

function columnsOf(
  t: TimelineTranslator,
  workerOf: (bar: PlacedBar) => string,
): readonly Column<PlacedBar>[] {
  const moment = (at: number | null): string => (at === null ? t('time.none') : momentFormat(t).format(at));
  return [
    {
      id: 'worker',
      title: t('timeline.column.worker'),
      width: 'minmax(100px, 1fr)',
      cell: workerOf,
      sortBy: workerOf,
    },
    {
      id: 'job',
      title: t('timeline.column.job'),
      width: 'minmax(140px, 2fr)',
      cell: ({ bar }) => <JobLink id={bar.jobId}>{bar.name}</JobLink>,
      sortBy: ({ bar }) => bar.name,
    },
    {
      id: 'attempt',
      title: t('timeline.column.attempt'),
      width: '80px',
      cell: ({ bar }) => bar.attempt ?? t('time.none'),
      sortBy: ({ bar }) => bar.attempt,
    },
    {
      id: 'state',
      title: t('timeline.column.state'),
      width: 'minmax(110px, 1fr)',
      cell: ({ bar }) => stateText(t, bar.state),
      sortBy: ({ bar }) => bar.state,
    },
    {
      id: 'from',
      title: t('timeline.column.from'),
      width: 'minmax(170px, 1fr)',
      cell: ({ bar }) => moment(bar.from),
      sortBy: ({ bar }) => bar.from,
    },
    {
      id: 'to',
      title: t('timeline.column.to'),
      width: 'minmax(170px, 1fr)',
      cell: ({ bar }) => {
        const expected = bar.state === 'predicted' ? bar.to : bar.expectedTo;
        if (expected === null || (bar.state !== 'predicted' && bar.to !== null)) return moment(bar.to);
        return t('timeline.about', { time: shortMomentFormat(t).format(expected) });
      },
      sortBy: ({ bar }) => bar.to ?? bar.expectedTo,
    },
  ];
}
