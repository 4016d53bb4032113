import { Link, useParams } from 'wouter';
import type { PoolView } from '../../../protocol/pool.ts';
import '../jobs/jobs.css';
import './pools.css';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { LoadFailure } from '../data/use-datasets.tsx';
import { type PoolActions, usePoolActions } from './actions.tsx';
import { CheckResult } from './check.tsx';
import { PoolForm } from './form.tsx';
import { Launches } from './launches.tsx';
import { PoolCard, PoolFigures, PoolHead, PoolMeters, PoolNotices } from './pool-card.tsx';
import { daysText } from './pool-facts.ts';
import { PoolTexts, usePoolT } from './texts.tsx';
import { type PoolsRead, useLaunches, usePools } from './use-pools.ts';

/** Lists the pools with their launches, limits and costs. */
export const PoolsPage = () => (
  <PoolTexts>
    <PoolRoutes />
  </PoolTexts>
);

/** Shows the list of pools, the form for a new pool, or the page of one pool. */
function PoolRoutes() {
  const { id, act } = useParams<{ readonly id?: string; readonly act?: string }>();
  const read = usePools();
  if (id === undefined) return <PoolList read={read} />;
  return id === 'new' ? <NewPool /> : <PoolRoute key={id} id={id} act={act ?? null} read={read} />;
}

function PoolList({ read: { pools, failure, reload, refreshes } }: { readonly read: PoolsRead }) {
  const t = usePoolT();
  const { actions, dialog } = usePoolActions();
  return (
    <div className="page pools-page" aria-busy={pools === null && failure === null}>
      <div className="page-head">
        <h1>{t('nav.pools')}</h1>
        {pools !== null && pools.length > 0 && <CreateLink />}
      </div>
      <LoadFailure failure={failure} onRetry={reload} />
      {pools?.length === 0 && (
        <section className="card">
          <Empty why={t('pools.explain')}>
            <CreateLink />
          </Empty>
        </section>
      )}
      {pools?.map(pool => (
        <PoolCard key={pool.pool_id} pool={pool} actions={actions} refreshes={refreshes} />
      ))}
      {dialog}
    </div>
  );
}

function CreateLink() {
  const t = usePoolT();
  return (
    <Link href="/pools/new" className="button button-primary">
      {t('pools.create')}
    </Link>
  );
}

function NewPool() {
  const t = usePoolT();
  return (
    <div className="page pools-page">
      <BackLink />
      <h1>{t('pools.form.new')}</h1>
      <PoolForm pool={null} />
    </div>
  );
}

function BackLink() {
  const t = usePoolT();
  return (
    <nav className="crumb" aria-label={t('pools.back')}>
      <Link href="/pools">{t('pools.back')}</Link>
    </nav>
  );
}

interface PoolRouteProps {
  readonly id: string;
  /** `edit` shows the form. `check` shows the details with a check of the engine. Null shows only the details. */
  readonly act: string | null;
  readonly read: PoolsRead;
}

function PoolRoute({ id, act, read: { pools, failure, reload, refreshes } }: PoolRouteProps) {
  const t = usePoolT();
  const { actions, dialog } = usePoolActions();
  const pool = pools?.find(each => each.pool_id === id);
  return (
    <div className="page pools-page" aria-busy={pools === null && failure === null}>
      <BackLink />
      <LoadFailure failure={failure} onRetry={reload} />
      {pools !== null && pool === undefined && <Empty why={t('pools.notFound')} />}
      {pool !== undefined && act === 'edit' && (
        <>
          <h1>{t('pools.form.edit', { name: pool.name })}</h1>
          <PoolForm pool={pool} />
        </>
      )}
      {pool !== undefined && act !== 'edit' && (
        <PoolDetails pool={pool} actions={actions} refreshes={refreshes} isChecking={act === 'check'} />
      )}
      {dialog}
    </div>
  );
}

interface PoolDetailsProps {
  readonly pool: PoolView;
  readonly actions: PoolActions;
  readonly refreshes: number;
  readonly isChecking: boolean;
}

const maxLaunches = 200;

function PoolDetails({ pool, actions, refreshes, isChecking }: PoolDetailsProps) {
  const t = usePoolT();
  const { pool_id: id, name, settings } = pool;
  const launches = useLaunches(id, maxLaunches, refreshes);
  return (
    <>
      <PoolHead pool={pool} actions={actions}>
        <h1 translate="no">{name}</h1>
      </PoolHead>
      <PoolNotices pool={pool} />
      {isChecking && (
        <section className="card" aria-labelledby="pool-check">
          <div className="page-head">
            <h2 id="pool-check">{t('pools.check.title', { name })}</h2>
            <Button kind="quiet" onClick={() => actions.open(`/pools/${id}`)}>
              {t('action.close')}
            </Button>
          </div>
          <CheckResult id={id} />
        </section>
      )}
      <section className="card pool" aria-label={name}>
        <PoolMeters pool={pool} />
        <PoolFigures pool={pool} />
        {settings.hours !== null && (
          <p>
            {t('pools.form.hours')}
            {': '}
            {t('pools.hours.text', {
              days: daysText(settings.hours, t.language) ?? t('pools.hours.daily'),
              from: settings.hours.from,
              to: settings.hours.to,
              zone: settings.hours.time_zone,
            })}
          </p>
        )}
      </section>
      <section className="card" aria-labelledby="pool-launches">
        <h2 id="pool-launches">{t('pools.launches')}</h2>
        {launches?.length === 0 && <p className="muted">{t('pools.launches.none')}</p>}
        {launches !== null && launches.length > 0 && (
          <Launches launches={launches} labelledBy="pool-launches" />
        )}
      </section>
    </>
  );
}
