import { memo, type PointerEvent, type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { type Translator, useT } from '../../../i18n/index.ts';
import { figure, rowName, troubleTexts } from '../../workers/texts.ts';
import { type GpuCell, fillLevel, type MapPlace, movedPlace, totalPower } from './gpu-cells.ts';
import { Details } from './details.tsx';
import { useCells } from './use-cells.ts';

/** With more workers than this, the map has smaller squares and no names. */
const maxNamed = 40;

interface FleetMapProps {
  /** Workers with GPUs, in order. */
  readonly workers: readonly WorkerView[];
}

/**
 * A square for each GPU, grouped by worker. The map is one stop for Tab: arrow keys move between GPUs, and Enter opens
 * the worker. The line below describes the GPU under the pointer or the focus.
 */
export function FleetMap({ workers }: FleetMapProps) {
  const t = useT();
  const list = useRef<HTMLUListElement>(null);
  const [place, setPlace] = useState<MapPlace | null>(null);
  const counts = useMemo(
    () => workers.map(({ gpu_count: count, gpu_info: { gpus } }) => gpus.length || count),
    [workers],
  );
  const shown = place !== null && place.worker < workers.length ? place : null;
  const power = totalPower(workers);

  const onKeyDown = (event: KeyboardEvent): void => {
    const next = movedPlace(shown ?? { worker: 0, gpu: 0 }, event.key, counts);
    if (next === null) return;
    event.preventDefault();
    setPlace(next);
    list.current?.querySelectorAll('a')[next.worker]?.focus();
  };
  const onPointerOver = ({ target }: PointerEvent): void => {
    const found = target instanceof Element ? target.closest<HTMLElement>('[data-gpu]') : null;
    const worker = Number(found?.closest<HTMLElement>('[data-rig]')?.dataset['rig']);
    if (found !== null && Number.isInteger(worker)) setPlace({ worker, gpu: Number(found.dataset['gpu']) });
  };
  const onFocus = ({ target }: { readonly target: EventTarget }): void => {
    const rig = target instanceof Element ? target.closest<HTMLElement>('[data-rig]') : null;
    const worker = Number(rig?.dataset['rig']);
    if (Number.isInteger(worker) && shown?.worker !== worker) setPlace({ worker, gpu: 0 });
  };
  return (
    <section className="card" aria-labelledby="fleet-map">
      <div className="fleet-head">
        <h2 id="fleet-map">{t('fleet.title')}</h2>
        {power !== null && (
          <span className="muted">{t('fleet.power', { value: figure(t, power / 1000) })}</span>
        )}
        <Legend />
      </div>
      <ul
        ref={list}
        className="fleet-map"
        data-dense={workers.length > maxNamed}
        aria-labelledby="fleet-map"
        onKeyDown={onKeyDown}
        onPointerOver={onPointerOver}
        onFocus={onFocus}
      >
        {workers.map((worker, at) => (
          <Rig
            key={worker.id}
            worker={worker}
            at={at}
            active={shown?.worker === at ? shown.gpu : null}
            isTabStop={at === (shown?.worker ?? 0)}
          />
        ))}
      </ul>
      <Details worker={shown === null ? null : (workers[shown.worker] ?? null)} place={shown?.gpu ?? 0} />
    </section>
  );
}

const legend = ['busy', 'idle', 'offline', 'trouble'] as const;

function Legend() {
  const t = useT();
  return (
    <ul className="fleet-legend muted">
      {legend.map(name => (
        <li key={name}>
          <span
            className="gpu"
            data-state={name === 'trouble' ? 'busy' : name}
            data-level={name === 'busy' || name === 'trouble' ? 4 : 0}
            data-trouble={name === 'trouble' ? 'reported' : undefined}
          />
          {t(`fleet.legend.${name}`)}
        </li>
      ))}
    </ul>
  );
}

interface RigProps {
  readonly worker: WorkerView;
  readonly at: number;
  /** Place of the GPU that is described below the map; null when it is on another worker. */
  readonly active: number | null;
  readonly isTabStop: boolean;
}

/** Re-renders only when its worker, the GPUs of its job or its own place changes. */
const Rig = memo(function Rig({ worker, at, active, isTabStop }: RigProps) {
  const t = useT();
  const cells = useCells(worker);
  const label = rigLabel(t, worker, cells);
  return (
    <li>
      <Link
        href={`/workers/${worker.id}`}
        className="fleet-rig"
        data-rig={at}
        tabIndex={isTabStop ? 0 : -1}
        aria-label={label}
      >
        <span className="fleet-gpus">
          {cells.map((cell, place) => (
            <span
              key={cell.index}
              className="gpu"
              data-gpu={place}
              data-state={cell.state}
              data-level={fillLevel(cell)}
              data-trouble={cell.trouble ?? undefined}
              data-active={active === place ? true : undefined}
            />
          ))}
        </span>
        <span className="fleet-name">{worker.name}</span>
      </Link>
    </li>
  );
});

/** The facts about a worker in one line, for screen readers. */
function rigLabel(t: Translator, worker: WorkerView, cells: readonly GpuCell[]): string {
  const load = worker.status === 'offline' ? null : worker.gpu_utilization;
  const hot = cells.filter(({ trouble }) => trouble === 'hot');
  return [
    rowName(t, worker),
    ...(load === null ? [] : [t('fleet.load', { value: Math.round(load) })]),
    ...(worker.status === 'offline' ? [] : troubleTexts(t, worker)),
    ...hot.map(({ figures }) => t('fleet.hot', { value: figure(t, figures?.temperature_c ?? 0) })),
  ].join('; ');
}
