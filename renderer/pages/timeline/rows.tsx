import { useEffect, useMemo, useState } from 'react';
import { detailOf } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';
import { Chart } from './chart.tsx';
import { createLayout, type RowWorker, workersToShow } from './layout.ts';
import { AttemptTable } from './table.tsx';
import { useTimelineT } from './texts.tsx';
import './timeline.css';
import { Legend, Toolbar } from './toolbar.tsx';
import { useHost } from './use-host.ts';
import { type TimelineFilter, useTimeline } from './use-timeline.ts';
import type { View } from './use-view.ts';

interface TimelineProps {
  /** Rows that are shown even without bars. */
  readonly workers: readonly RowWorker[];
  readonly filter: TimelineFilter;
  readonly view: View;
}

const noWorkers: readonly RowWorker[] = [];

/** The toolbar, the chart, and on request a table of the same attempts. */
export function Timeline({ workers, filter, view }: TimelineProps) {
  const t = useTimelineT();
  const host = useHost();
  const [isTable, setTable] = useState(false);
  const { timeline, bars, failure, reload } = useTimeline(filter, view.range);
  const listedWorkers = useMemo(
    () => timeline?.workers.map(({ id, name, deleted }) => ({ id, name, isDeleted: deleted })) ?? noWorkers,
    [timeline],
  );
  const hasNamesAbove = host.nameWidth === 0;
  const { now, range } = view;
  const layout = useMemo(
    () => createLayout({ workers: workersToShow(workers, listedWorkers), bars, now, hasNamesAbove }),
    [workers, listedWorkers, bars, now, hasNamesAbove],
  );
  const shown = layout.bars.filter(({ bar, end }) => end >= range.from && bar.from <= range.to);
  return (
    <div className="timeline-view" aria-busy={timeline === null && failure === null}>
      <Toolbar view={view}>
        <Button aria-pressed={isTable} onClick={() => setTable(was => !was)}>
          {t(isTable ? 'timeline.hideTable' : 'timeline.showTable')}
        </Button>
      </Toolbar>
      {failure !== null && (
        <p className="trouble" role="alert">
          {detailOf(failure) ?? t('error.unreachable')} <Button onClick={reload}>{t('action.retry')}</Button>
        </p>
      )}
      <Chart layout={layout} view={view} host={host} />
      <div className="timeline-foot">
        <Legend />
        <p role="status" className="muted">
          {timeline?.is_cut === true && t('timeline.cut', { count: timeline.bars.length })}
          {timeline !== null && shown.length === 0 && t('timeline.noBars')}
        </p>
      </div>
      {isTable && <AttemptTable layout={layout} bars={shown} now={now} />}
    </div>
  );
}

/** Calls `onZoom` whenever the zoom level changes. */
export function useZoomNotice({ zoom }: View, onZoom: (zoom: View['zoom']) => void): void {
  useEffect(() => onZoom(zoom), [zoom, onZoom]);
}
