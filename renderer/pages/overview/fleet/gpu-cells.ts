/** The data of each GPU on the fleet map and on the cards. */
import type { Gpu, GpuFigures, WorkerView } from '../../../../protocol/worker.ts';
import { perLanguage } from '../../../i18n/formats.ts';

/** The data of one GPU. */
export interface GpuCell {
  /** Number of the GPU on its machine. */
  readonly index: number;
  readonly name: string | null;
  /** Memory in GiB; null when unknown. */
  readonly totalGb: number | null;
  /** `offline`: the worker is not connected. `busy`: the job of the worker uses this GPU. */
  readonly state: 'busy' | 'idle' | 'offline';
  /** The readings of the GPU; null if the worker is offline or reports none for this GPU. */
  readonly figures: GpuFigures | null;
  /** `reported`: the agent has reported a problem. `hot`: the temperature is too high. */
  readonly trouble: 'reported' | 'hot' | null;
}

/** Positions of the current job's GPUs in the worker's list; null for all GPUs of the worker. */
export type AllocatedGpus = readonly number[] | null;

/** GPUs slow down from these temperatures in degrees Celsius. AMD GPUs report the temperature of their hottest spot. */
const hotFrom = { cuda: 90, rocm: 105 } as const;

const isHot = ({ temperature_c: temperature }: GpuFigures, accelerator: string | null): boolean =>
  temperature !== null && temperature >= (accelerator === 'rocm' ? hotFrom.rocm : hotFrom.cuda);

/** Returns all GPUs of a worker in order. */
export function gpuCells(worker: WorkerView, allocated: AllocatedGpus): readonly GpuCell[] {
  const isOffline = worker.status === 'offline';
  const figures = new Map(isOffline ? [] : worker.gpu_figures.map(each => [each.index, each] as const));
  const troubled = new Set(isOffline ? [] : worker.gpu_troubles.map(({ gpu }) => gpu));
  return listedGpus(worker).map((gpu, place) => {
    const figuresOfGpu = figures.get(gpu.index) ?? null;
    const isBusy = worker.current_job_id !== null && (allocated === null || allocated.includes(place));
    const connectedState = isBusy ? 'busy' : 'idle';
    return {
      index: gpu.index,
      name: gpu.name ?? worker.gpu_name,
      totalGb: gpu.vram_gb ?? worker.gpu_vram_gb,
      state: isOffline ? 'offline' : connectedState,
      figures: figuresOfGpu,
      trouble: troubleOf(
        troubled.has(gpu.index),
        figuresOfGpu !== null && isHot(figuresOfGpu, worker.accelerator_type),
      ),
    };
  });
}

function troubleOf(isReported: boolean, isTooHot: boolean): GpuCell['trouble'] {
  if (isReported) return 'reported';
  return isTooHot ? 'hot' : null;
}

type ListedGpu = Pick<Gpu, 'index'> & Partial<Gpu>;

/** Lists the GPUs of a worker. A v1 worker reports only the number of GPUs, so the list has only indexes. */
const listedGpus = ({ gpu_info: { gpus }, gpu_count: count }: WorkerView): readonly ListedGpu[] =>
  gpus.length > 0 ? gpus : Array.from({ length: count }, (_, index) => ({ index }));

/**
 * Returns the fill level of a GPU's square, in quarters. Only busy GPUs have a filled square: at least a quarter, and a
 * full square if the load is unknown.
 */
export function fillLevel({ figures, state }: GpuCell): 0 | 1 | 2 | 3 | 4 {
  if (state !== 'busy') return 0;
  const percent = figures?.utilization ?? 100;
  if (percent < 30) return 1;
  if (percent < 60) return 2;
  return percent < 85 ? 3 : 4;
}

const byName = perLanguage(language => new Intl.Collator(language, { numeric: true }));

export const isMapped = ({ gpu_count: count }: WorkerView): boolean => count > 0;

/** Returns the workers that have GPUs, sorted by name, so that each worker keeps its position on the map. */
export const mappedWorkers = (workers: Iterable<WorkerView>, language: string): readonly WorkerView[] =>
  [...workers].filter(isMapped).toSorted((a, b) => byName(language).compare(a.name, b.name));

const maxCards = 12;

/**
 * Returns the workers that get a card, in the given order. If there are more than `max`, workers with problems have
 * precedence, then workers with jobs.
 */
export function cardWorkers(sorted: readonly WorkerView[], max = maxCards): readonly WorkerView[] {
  if (sorted.length <= max) return sorted;
  const chosen = new Set(sorted.toSorted((a, b) => rank(a) - rank(b)).slice(0, max));
  return sorted.filter(worker => chosen.has(worker));
}

function rank({ status, gpu_troubles: troubles, quarantine, current_job_id: job }: WorkerView): number {
  if (status === 'offline') return job === null ? 3 : 0;
  if (troubles.length > 0 || quarantine !== null) return 0;
  return job === null ? 2 : 1;
}

/** Returns the total power draw of all connected GPUs in watts; null if no GPU reports its power draw. */
export function totalPower(workers: readonly WorkerView[]): number | null {
  const draws = workers
    .filter(({ status }) => status !== 'offline')
    .flatMap(({ gpu_figures: gpus }) => gpus.flatMap(({ power_w: watts }) => watts ?? []));
  return draws.length === 0 ? null : draws.reduce((sum, watts) => sum + watts, 0);
}

/** Position of a GPU on the map: the index of its worker, and the index of the GPU in the worker's list. */
export interface MapPlace {
  readonly worker: number;
  readonly gpu: number;
}

/**
 * Returns the position after a key press. Left and right move between GPUs, and up and down between workers. Home and
 * End move to the first and last worker. Returns null for all other keys. `counts` has the number of GPUs of each worker.
 */
export function movedPlace(place: MapPlace, key: string, counts: readonly number[]): MapPlace | null {
  const last = counts.length - 1;
  const firstGpuOf = (worker: number): MapPlace => ({ worker: Math.min(last, Math.max(0, worker)), gpu: 0 });
  const lastGpuOf = (worker: number): MapPlace => ({ worker, gpu: Math.max(0, (counts[worker] ?? 1) - 1) });
  switch (key) {
    case 'ArrowRight':
      if (place.gpu + 1 < (counts[place.worker] ?? 0)) return { ...place, gpu: place.gpu + 1 };
      return place.worker === last ? place : firstGpuOf(place.worker + 1);
    case 'ArrowLeft':
      if (place.gpu > 0) return { ...place, gpu: place.gpu - 1 };
      return place.worker === 0 ? place : lastGpuOf(place.worker - 1);
    case 'ArrowDown':
      return firstGpuOf(place.worker + 1);
    case 'ArrowUp':
      return firstGpuOf(place.worker - 1);
    case 'Home':
      return firstGpuOf(0);
    case 'End':
      return firstGpuOf(last);
    default:
      return null;
  }
}
