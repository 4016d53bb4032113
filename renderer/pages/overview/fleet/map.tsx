import { type PointerEvent, type KeyboardEvent, useDeferredValue, useMemo, useRef, useState } from 'react';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import { useRemembered } from '../../../state/remembered.ts';
import { figure as formatFigure } from '../../workers/texts.ts';
import { Details } from './details.tsx';
import { type MapFigure, mapFigures, parseMapFigure } from './figures.ts';
import { type MapPlace, movedPlace, totalPower } from './gpu-cells.ts';
import { Legend } from './legend.tsx';
import { Rig } from './rig.tsx';
import './map.css';

/** Maximum number of workers for large squares and names. */
const maxNamed = 40;
/** Number of workers per group. The browser skips groups outside the visible part of the map. */
const groupSize = 100;
/** Maximum number of workers to render together with the page. A larger map appears later, at its maximum height. */
const maxImmediate = 1_000;
const none: readonly WorkerView[] = [];

interface FleetMapProps {
  /** Workers with GPUs, in order. */
  readonly workers: readonly WorkerView[];
  /** The selected workers, and a function that selects or deselects a worker. If absent, a square links to its worker. */
  readonly selection?: {
    readonly chosen: ReadonlySet<WorkerId>;
    readonly toggle: (id: WorkerId) => void;
  };
}

/**
 * A square for each GPU, grouped by worker. The map is a single tab stop: arrow keys move between GPUs, and Enter opens
 * or selects the worker. The line below the map describes the GPU under the pointer or the focus.
 */
export function FleetMap({ workers: newest, selection }: FleetMapProps) {
  const t = useFleetTexts();
  // A refresh changes every square of a large fleet. React renders it in pieces, so that the page stays responsive.
  const isLarge = newest.length > maxImmediate;
  const workers = useDeferredValue(newest, isLarge ? none : newest);
  const groups = useMemo(() => inGroups(workers), [workers]);
  const list = useRef<HTMLDivElement>(null);
  const [figure, setFigure] = useRemembered('map', parseMapFigure);
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
    list.current?.querySelectorAll<HTMLElement>('[data-rig]')[next.worker]?.focus();
  };
  const onPointerOver = ({ target }: PointerEvent): void => {
    const square = target instanceof Element ? target.closest<HTMLElement>('[data-gpu]') : null;
    const worker = workerAt(target);
    if (square !== null && worker !== null) setPlace({ worker, gpu: Number(square.dataset['gpu']) });
  };
  const onFocus = ({ target }: { readonly target: EventTarget }): void => {
    const worker = workerAt(target);
    if (worker !== null && shown?.worker !== worker) setPlace({ worker, gpu: 0 });
  };
  return (
    <section className="card fleet-card" aria-labelledby="fleet-map">
      <div className="fleet-head">
        <h2 id="fleet-map">{t('fleet.title')}</h2>
        {power !== null && (
          <span className="muted">{t('fleet.power', { value: formatFigure(t, power / 1000) })}</span>
        )}
        <FigureChoice figure={figure} onChoose={setFigure} />
        <Legend figure={figure} />
      </div>
      <div
        ref={list}
        className="fleet-map"
        data-dense={newest.length > maxNamed}
        data-large={isLarge}
        role="list"
        aria-labelledby="fleet-map"
        onKeyDown={onKeyDown}
        onPointerOver={onPointerOver}
        onFocus={onFocus}
      >
        {groups.map(group => (
          <div key={group.first} className="fleet-group" role="presentation">
            {group.workers.map((worker, index) => {
              const at = group.first + index;
              return (
                <Rig
                  key={worker.id}
                  worker={worker}
                  at={at}
                  figure={figure}
                  active={shown?.worker === at ? shown.gpu : null}
                  isTabStop={at === (shown?.worker ?? 0)}
                  isChosen={selection?.chosen.has(worker.id) ?? false}
                  onToggle={selection?.toggle}
                />
              );
            })}
          </div>
        ))}
      </div>
      <Details
        worker={shown === null ? null : (workers[shown.worker] ?? null)}
        place={shown?.gpu ?? 0}
        hint={t(selection === undefined ? 'fleet.hint' : 'map.hint.select')}
      />
    </section>
  );
}

interface Group {
  /** Index of the group's first worker among all workers. */
  readonly first: number;
  readonly workers: readonly WorkerView[];
}

function inGroups(workers: readonly WorkerView[]): readonly Group[] {
  const groups: Group[] = [];
  for (let first = 0; first < workers.length; first += groupSize)
    groups.push({ first, workers: workers.slice(first, first + groupSize) });
  return groups;
}

/** Returns the index of the worker whose part of the map contains the element; null for none. */
function workerAt(target: EventTarget): number | null {
  const rig = target instanceof Element ? target.closest<HTMLElement>('[data-rig]') : null;
  return rig === null ? null : Number(rig.dataset['rig']);
}

interface FigureChoiceProps {
  readonly figure: MapFigure;
  readonly onChoose: (figure: MapFigure) => void;
}

function FigureChoice({ figure, onChoose }: FigureChoiceProps) {
  const t = useFleetTexts();
  return (
    <label className="fleet-figure-choice muted">
      {t('map.figure')}
      <select value={figure} onChange={({ target }) => onChoose(parseMapFigure(target.value))}>
        {mapFigures.map(each => (
          <option key={each} value={each}>
            {t(`map.figure.${each}`)}
          </option>
        ))}
      </select>
    </label>
  );
}
