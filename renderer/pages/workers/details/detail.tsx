import { lazy, Suspense } from 'react';
import { Link, useSearch } from 'wouter';
import { auditApi, workersApi } from '../../../../protocol/admin-api.ts';
import { datasetsApi } from '../../../../protocol/datasets-api.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet } from '../../../app/context.ts';
import { loadPart } from '../../../app/part.ts';
import { Allowed } from '../../../app/guarded.tsx';
import { useT } from '../../../i18n/index.ts';
import { Button } from '../../../ui/button.tsx';
import { Empty } from '../../../ui/empty.tsx';
import { useStartAction } from '../actions.ts';
import { ConnectionCard, RawCard } from './connection.tsx';
import { GpusCard } from './gpus.tsx';
import { JobsCard, EventsCard, DataCard } from './activity.tsx';
import { UpdateNotice } from '../update/notice.tsx';
import { Notices, VersionNotice } from './notices.tsx';
import { State } from '../../../ui/indicators.tsx';
import { LostTag } from '../cells.tsx';
import { shownState } from '../facts.ts';
import { reasonText } from '../texts.ts';
import { useRevert, WorkerMenu } from '../worker-menu.tsx';

const WorkerTimeline = lazy(() =>
  loadPart(async () => ({ default: (await import('../../timeline/card.tsx')).WorkerTimeline })),
);

export function WorkerDetail({ id }: { readonly id: string }) {
  const t = useT();
  const search = useSearch();
  const worker = useFleet(state => state.fleet.workers.values().find(each => each.id === id));
  const isRead = useFleet(state => state.fleet.seq >= 0);
  return (
    <div className="page workers" aria-busy={!isRead}>
      <div className="crumb">
        <Link href={`/workers${search === '' ? '' : `?${search}`}`}>{t('workers.back')}</Link>
      </div>
      {worker === undefined ? (
        <>
          <h1>{t('workers.title')}</h1>
          {isRead && <Empty why={t('workers.notFound')} />}
        </>
      ) : (
        <>
          <Head worker={worker} />
          <Notices worker={worker} />
          <Suspense fallback={null}>
            <UpdateNotice worker={worker} />
          </Suspense>
          <VersionNotice worker={worker} />
          <div className="worker-cards">
            <div>
              <GpusCard worker={worker} />
              <Allowed call={queueApi.list}>
                <JobsCard worker={worker} />
              </Allowed>
            </div>
            <div>
              <ConnectionCard worker={worker} />
              <Allowed call={datasetsApi.list}>
                <DataCard worker={worker} />
              </Allowed>
              <Allowed call={auditApi.list}>
                <EventsCard worker={worker} />
              </Allowed>
            </div>
          </div>
          <Allowed call={queueApi.list}>
            <Suspense fallback={<div aria-busy="true" />}>
              <WorkerTimeline worker={worker} />
            </Suspense>
          </Allowed>
          <RawCard worker={worker} />
        </>
      )}
    </div>
  );
}

function Head({ worker }: { readonly worker: WorkerView }) {
  const t = useT();
  const start = useStartAction();
  const revert = useRevert();
  // Omit the reason of a drain or quarantine, because a notice below shows it.
  const reason = worker.drain === null && worker.quarantine === null ? reasonText(t, worker) : null;
  return (
    <header className="page-head">
      <div className="worker-title">
        <h1>{worker.name}</h1>
        <State name={shownState(worker)} />
        <LostTag worker={worker} />
        {reason !== null && <span className="muted">{reason}</span>}
        {worker.local && <span className="worker-tag">{t('workers.here')}</span>}
      </div>
      <div className="worker-acts">
        {worker.quarantine !== null && (
          <Allowed call={workersApi.unquarantine}>
            <Button onClick={() => revert('unquarantine', worker)}>{t('workers.act.unquarantine')}</Button>
          </Allowed>
        )}
        {worker.drain === null ? (
          <Allowed call={workersApi.drain}>
            <Button onClick={() => start({ kind: 'drain', worker })}>{t('workers.act.drain')}</Button>
          </Allowed>
        ) : (
          <Allowed call={workersApi.undrain}>
            <Button onClick={() => revert('undrain', worker)}>{t('workers.act.undrain')}</Button>
          </Allowed>
        )}
        <WorkerMenu worker={worker} />
      </div>
    </header>
  );
}
