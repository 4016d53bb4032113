import { type ReactNode, useId } from 'react';
import { Link } from 'wouter';
import type { PoolView } from '../../../protocol/pool.ts';
import { perLanguage } from '../../i18n/formats.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Progress } from '../../ui/indicators.tsx';
import { Menu } from '../../ui/menu.tsx';
import { Time } from '../../ui/time.tsx';
import { menuOf, type PoolActions } from './actions.tsx';
import { Launches } from './launches.tsx';
import { type Meter, metersOf, percentOf, queueOf, resumeActOf, stateIcons, stateOf } from './pool-facts.ts';
import { type PoolTranslator, usePoolT } from './texts.tsx';
import { useLaunches } from './use-pools.ts';

const figureFormat = perLanguage(language => new Intl.NumberFormat(language, { maximumFractionDigits: 2 }));

interface PoolProps {
  readonly pool: PoolView;
  readonly actions: PoolActions;
}

interface PoolCardProps extends PoolProps {
  readonly refreshes: number;
}

/** Maximum number of launches on a card. The page of the pool shows more. */
const maxShown = 3;

/** A pool in the list, with its newest launches. */
export function PoolCard({ pool, actions, refreshes }: PoolCardProps) {
  const t = usePoolT();
  const id = useId();
  // Read one more launch than the card shows, to detect further launches.
  const launches = useLaunches(pool.pool_id, maxShown + 1, refreshes);
  return (
    <section className="card pool" aria-labelledby={id}>
      <PoolHead pool={pool} actions={actions}>
        <h2 id={id} translate="no">
          <Link href={`/pools/${pool.pool_id}`}>{pool.name}</Link>
        </h2>
      </PoolHead>
      <PoolNotices pool={pool} />
      <PoolMeters pool={pool} />
      <PoolFigures pool={pool} />
      {launches !== null && launches.length > 0 && (
        <>
          <h3 id={`${id}-launches`}>{t('pools.launches')}</h3>
          <Launches launches={launches.slice(0, maxShown)} labelledBy={`${id}-launches`} />
        </>
      )}
      {launches !== null && launches.length > maxShown && (
        <Link href={`/pools/${pool.pool_id}`}>{t('pools.launches.all')}</Link>
      )}
    </section>
  );
}

/** The head of a pool: its name (`children`), state and actions. */
export function PoolHead({ pool, actions, children }: PoolProps & { readonly children: ReactNode }) {
  const t = usePoolT();
  const state = stateOf(pool);
  const { name } = pool;
  const resumes = resumeActOf(pool);
  return (
    <div className="pool-head">
      <div className="pool-title">
        {children}
        <span className="state" data-state={stateIcons[state]}>
          <Icon name={stateIcons[state]} />
          {t(`pools.state.${state}`)}
        </span>
      </div>
      <div className="pool-acts">
        {resumes !== null && (
          <Button
            aria-label={t('pools.act.nameOf', { act: t(`pools.act.${resumes}`), name })}
            onClick={() => actions.resume(pool)}
          >
            {t(`pools.act.${resumes}`)}
          </Button>
        )}
        <Button
          aria-label={t('pools.act.nameOf', { act: t('pools.act.test'), name })}
          onClick={() => actions.test(pool)}
        >
          {t('pools.act.test')}
        </Button>
        <Menu label={t('pools.act.more', { name })} items={menuOf(pool, actions, t)} />
      </div>
    </div>
  );
}

/** The reasons why the pool orders no machines: a pause, an unreachable engine, or machines that the engine refused. */
export function PoolNotices({ pool: { paused, unreachable, impossible } }: { readonly pool: PoolView }) {
  const t = usePoolT();
  return (
    <>
      {paused !== null && (
        <p className="notice">
          {paused.by === 'system' ? t('pools.pausedItself') : t('pools.pausedBy', { by: paused.by })}
          {', '}
          <Time at={paused.since} />
          {paused.reason !== '' && <span className="pool-reason">{paused.reason}</span>}
        </p>
      )}
      {unreachable !== null && (
        <p className="notice pool-unreachable">
          {t('pools.unreachableSince')} <Time at={unreachable.since} style="absolute" />
          <span className="pool-reason">{unreachable.detail}</span>
        </p>
      )}
      {impossible.map(({ shape, message }) => (
        <p key={shape} className="notice">
          {t('pools.impossible', { shape })}
          <span className="pool-reason">{message}</span>
        </p>
      ))}
    </>
  );
}

export function PoolMeters({ pool }: { readonly pool: PoolView }) {
  const t = usePoolT();
  return (
    <div className="pool-meters">
      {metersOf(pool).map(meter => {
        const what = t(`pools.meter.${meter.name}`);
        const percent = percentOf(meter);
        return (
          <div key={meter.name} className="pool-meter" data-full={percent === 100}>
            <span className="muted">{what}</span>
            {percent === null ? (
              <span className="pool-no-limit">{meterText(meter, t)}</span>
            ) : (
              <Progress
                percent={percent}
                label={t('pools.meter.label', { what, pool: pool.name })}
                text={meterText(meter, t)}
              />
            )}
          </div>
        );
      })}
    </div>
  );
}

function meterText({ used, max }: Meter, t: PoolTranslator): string {
  const figure = figureFormat(t.language);
  if (max === null) return t('pools.meter.noLimit', { used: figure.format(used) });
  return t('pools.meter.of', { used: figure.format(used), max: figure.format(max) });
}

/** The engine of a pool, its open launches, GPU-hours and cost. */
export function PoolFigures({ pool: { engine, open, usage } }: { readonly pool: PoolView }) {
  const t = usePoolT();
  const figure = figureFormat(t.language);
  const queue = queueOf(engine);
  const facts: readonly (readonly [string, ReactNode])[] = [
    [
      t('pools.figure.engine'),
      <>
        {t(`pools.engine.${engine.kind}`)} {queue !== null && <code>{queue}</code>}
      </>,
    ],
    [t('pools.figure.waiting'), figure.format(open.waiting)],
    [t('pools.figure.joined'), figure.format(open.joined)],
    [t('pools.figure.hours30'), figure.format(usage.gpu_hours_30_days)],
    ...(usage.cost_today === null || usage.cost_30_days === null
      ? []
      : ([
          [t('pools.figure.cost'), figure.format(usage.cost_today)],
          [t('pools.figure.cost30'), figure.format(usage.cost_30_days)],
        ] as const)),
  ];
  return (
    <dl className="pool-figures">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
