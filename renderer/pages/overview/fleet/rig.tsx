import { memo, type ReactNode } from 'react';
import { Link } from 'wouter';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { type FleetTranslator, useFleetTexts } from '../../../app/fleet-texts.ts';
import type { Translator } from '../../../i18n/index.ts';
import { figure as formatFigure, rowName, troubleTexts } from '../../workers/texts.ts';
import { figureText, type MapFigure, shareOf } from './figures.ts';
import { fillLevel, type GpuCell } from './gpu-cells.ts';
import { shareStyle } from './legend.tsx';
import { useCells } from './use-cells.ts';

interface RigProps {
  readonly worker: WorkerView;
  readonly at: number;
  readonly figure: MapFigure;
  /** Index of the GPU that the line below the map describes; null if this GPU is on another worker. */
  readonly active: number | null;
  readonly isTabStop: boolean;
  readonly isChosen: boolean;
  /** Selects or deselects the worker. Undefined on a map whose squares link to workers. */
  readonly onToggle: ((id: WorkerId) => void) | undefined;
}

/** The squares of a worker. Memoized, so that they render again only if the worker, its GPUs or its position changes. */
export const Rig = memo(function Rig(props: RigProps) {
  const { worker, at, figure, active, isTabStop, isChosen, onToggle } = props;
  const t = useFleetTexts();
  const cells = useCells(worker);
  const label = rigLabel(t, worker, cells, figure);
  const attributes = {
    className: 'fleet-rig',
    'data-rig': at,
    tabIndex: isTabStop ? 0 : -1,
    'aria-label': label,
  };
  const content: ReactNode = (
    <>
      <span className="fleet-gpus">
        {cells.map((cell, place) => (
          <Square key={cell.index} cell={cell} figure={figure} place={place} isActive={active === place} />
        ))}
      </span>
      <span className="fleet-name">{worker.name}</span>
    </>
  );
  return (
    <div role="listitem">
      {onToggle === undefined ? (
        <Link href={`/workers/${worker.id}`} {...attributes}>
          {content}
        </Link>
      ) : (
        <button type="button" aria-pressed={isChosen} onClick={() => onToggle(worker.id)} {...attributes}>
          {content}
        </button>
      )}
    </div>
  );
});

interface SquareProps {
  readonly cell: GpuCell;
  readonly figure: MapFigure;
  readonly place: number;
  readonly isActive: boolean;
}

function Square({ cell, figure, place, isActive }: SquareProps) {
  const share = figure === 'state' ? null : shareOf(cell, figure);
  return (
    <span
      className="gpu"
      data-gpu={place}
      data-state={cell.state}
      data-level={figure === 'state' ? fillLevel(cell) : undefined}
      data-share={share ?? undefined}
      data-unknown={(figure !== 'state' && share === null && cell.state !== 'offline') || undefined}
      data-trouble={cell.trouble ?? undefined}
      data-active={isActive || undefined}
      style={share === null ? undefined : shareStyle(share)}
    />
  );
}

/** Describes a worker and its GPUs in one line, for screen readers. */
function rigLabel(
  t: FleetTranslator,
  worker: WorkerView,
  cells: readonly GpuCell[],
  figure: MapFigure,
): string {
  const isOffline = worker.status === 'offline';
  const hot = cells.filter(({ trouble }) => trouble === 'hot');
  return [
    rowName(t, worker),
    ...(figure === 'state' ? loadText(t, worker) : cells.map(cell => gpuText(t, cell, figure))),
    ...(isOffline ? [] : troubleTexts(t, worker)),
    ...hot.map(({ figures }) => t('fleet.hot', { value: formatFigure(t, figures?.temperature_c ?? 0) })),
  ].join('; ');
}

const loadText = (t: Translator, { status, gpu_utilization: load }: WorkerView): readonly string[] =>
  status === 'offline' || load === null ? [] : [t('fleet.load', { value: Math.round(load) })];

const gpuText = (t: FleetTranslator, cell: GpuCell, figure: Exclude<MapFigure, 'state'>): string =>
  t('map.gpu', { index: cell.index, value: figureText(t, cell, figure) ?? t('map.unknown') });
