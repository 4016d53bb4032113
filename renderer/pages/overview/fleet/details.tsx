import { shownName } from '../../../../protocol/job-about.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { useFleet } from '../../../app/context.ts';
import { useFleetTexts } from '../../../app/fleet-texts.ts';
import type { Translator } from '../../../i18n/index.ts';
import { State } from '../../../ui/indicators.tsx';
import { JobLink, WorkerLink } from '../../../app/links.tsx';
import { gpuModel, shownState } from '../../workers/facts.ts';
import { figure, troubleText } from '../../workers/texts.ts';
import type { GpuCell } from './gpu-cells.ts';
import { useCells } from './use-cells.ts';

interface DetailsProps {
  /** The worker of the selected GPU; null while no GPU is selected. */
  readonly worker: WorkerView | null;
  /** Index of the GPU in the worker's list. */
  readonly place: number;
  /** Help for the map, shown while no GPU is selected. */
  readonly hint: string;
}

/** The line below the map. Its height stays the same, so that nothing moves while the pointer moves over the map. */
export function Details({ worker, place, hint }: DetailsProps) {
  return (
    <div className="fleet-details" aria-live="polite">
      {worker === null ? <span className="muted">{hint}</span> : <GpuDetails worker={worker} place={place} />}
    </div>
  );
}

function GpuDetails({ worker, place }: { readonly worker: WorkerView; readonly place: number }) {
  const t = useFleetTexts();
  const cells = useCells(worker);
  const cell = cells[place] ?? cells[0];
  const id = worker.current_job_id;
  const job = useFleet(({ fleet }) => (id === null ? undefined : fleet.jobs.get(id)));
  if (cell === undefined) return null;
  return (
    <>
      <strong>
        <WorkerLink id={worker.id}>{worker.name}</WorkerLink>
      </strong>
      <State name={shownState(worker)} />
      <span>
        {cell.name === null
          ? t('workers.detail.gpu', { index: cell.index })
          : t('map.gpuModel', { index: cell.index, model: gpuModel(cell.name) })}
      </span>
      {figureTexts(t, cell).map(text => (
        <span key={text} className="fleet-figure">
          {text}
        </span>
      ))}
      {worker.status !== 'offline' &&
        worker.gpu_troubles
          .filter(({ gpu }) => gpu === cell.index)
          .map(trouble => (
            <span key={trouble.kind} className="trouble">
              {troubleText(t, trouble)}
            </span>
          ))}
      {id !== null && cell.state === 'busy' && (
        <JobLink id={id}>{job === undefined ? id : shownName(job)}</JobLink>
      )}
    </>
  );
}

/** Returns the known figures of a GPU as texts. */
function figureTexts(t: Translator, { figures, totalGb, trouble }: GpuCell): readonly string[] {
  if (figures === null) return [];
  const { utilization: load, vram_used_gb: used, temperature_c: temperature, power_w: power } = figures;
  const degrees = trouble === 'hot' ? 'fleet.hot' : 'fleet.celsius';
  return [
    ...(load === null ? [] : [t('fleet.load', { value: Math.round(load) })]),
    ...(used === null || totalGb === null
      ? []
      : [t('workers.vram', { used: figure(t, used), total: figure(t, totalGb) })]),
    ...(temperature === null ? [] : [t(degrees, { value: Math.round(temperature) })]),
    ...(power === null ? [] : [t('fleet.watts', { value: Math.round(power) })]),
  ];
}
