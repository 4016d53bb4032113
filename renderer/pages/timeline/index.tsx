import { useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import { workersApi } from '../../../protocol/admin-api.ts';
import { useFleet } from '../../app/context.ts';
import { Allowed } from '../../app/guarded.tsx';
import { Empty } from '../../ui/empty.tsx';
import type { RowWorker } from './layout.ts';
import { Timeline, useZoomNotice } from './rows.tsx';
import { isZoom, type Zoom, zooms } from './scale.ts';
import { TimelineTexts, useTimelineT } from './texts.tsx';
import { useView } from './use-view.ts';

export const TimelinePage = () => (
  <TimelineTexts>
    <FleetTimeline />
  </TimelineTexts>
);

const everything = {};

/** The timeline of all workers. The URL contains the zoom level, so that a link shows the same range. */
function FleetTimeline() {
  const t = useTimelineT();
  const [params, setParams] = useSearchParams();
  const zoomParam = params.get('zoom');
  const view = useView(zooms[isZoom(zoomParam) ? zoomParam : 'day']);
  const remember = useCallback(
    (zoom: Zoom) => setParams(zoom === 'day' ? {} : { zoom }, { replace: true }),
    [setParams],
  );
  useZoomNotice(view, remember);
  const fleetWorkers = useFleet(({ fleet }) => fleet.workers);
  const isEmpty = useFleet(
    ({ fleet }) => fleet.seq >= 0 && fleet.workers.size === 0 && fleet.jobs.size === 0,
  );
  const workers = useMemo(
    () => [...fleetWorkers.values()].map(({ id, name }): RowWorker => ({ id, name, isDeleted: false })),
    [fleetWorkers],
  );
  return (
    <div className="page timeline-page">
      <div className="page-head">
        <h1>{t('nav.timeline')}</h1>
      </div>
      {isEmpty ? (
        <section className="card">
          <Empty why={t('timeline.none')}>
            <Allowed call={workersApi.create}>
              <Link href="/workers">{t('timeline.none.add')}</Link>
            </Allowed>
          </Empty>
        </section>
      ) : (
        <Timeline workers={workers} filter={everything} view={view} />
      )}
    </div>
  );
}
