import type { WorkerView } from '../../../protocol/worker.ts';

/** In display order. */
export const shownStates = ['idle', 'busy', 'connecting', 'draining', 'quarantined', 'offline'] as const;
export type ShownState = (typeof shownStates)[number];

const words: readonly string[] = shownStates;
export const isShownState = (word: string): word is ShownState => words.includes(word);

/** A quarantined worker gets no jobs, so it is not shown as idle. */
export const shownState = ({ status, quarantine }: WorkerView): ShownState =>
  status === 'idle' && quarantine !== null ? 'quarantined' : status;

export function countStates(workers: Iterable<WorkerView>): ReadonlyMap<ShownState, number> {
  const counts = new Map<ShownState, number>();
  for (const worker of workers) {
    const state = shownState(worker);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** Shortens "NVIDIA A100-SXM4-80GB" to "A100-SXM4": the vendor adds nothing, and the memory is shown next to it. */
export const gpuModel = (name: string): string =>
  name
    .replace(/^(NVIDIA|AMD|Intel(\(R\))?)\s+/i, '')
    .replace(/^GeForce\s+/i, '')
    .replace(/[\s-]\d+\s?GB\b.*$/i, '');

/** GiB of all its GPUs; null when it reports none. */
export function vramTotal(worker: WorkerView): number | null {
  const { gpus } = worker.gpu_info;
  if (gpus.length > 0 && gpus.length === worker.gpu_count)
    return gpus.reduce((sum, gpu) => sum + gpu.vram_gb, 0);
  return worker.gpu_vram_gb === null || worker.gpu_count === 0 ? null : worker.gpu_vram_gb * worker.gpu_count;
}

/** Heartbeats arrive every 30 seconds. One missing heartbeat is a warning, and after 120 seconds the worker is offline. */
export function contactLevel({ status, last_contact_age_s: age }: WorkerView): 'good' | 'late' | 'lost' {
  if (status === 'offline' || age === null || age <= 45) return 'good';
  return age <= 90 ? 'late' : 'lost';
}

/** Returns why the server would refuse to delete the worker; null when it would not. */
export function undeletableReason(worker: WorkerView): 'online' | 'has_job' | null {
  if (worker.registered_at !== null && worker.status !== 'offline') return 'online';
  return worker.current_job_id === null ? null : 'has_job';
}

/** SimpleTuner's own agent stops its job when its token is refused. */
export const losesJobOnRotation = (worker: WorkerView): boolean =>
  worker.protocol === 1 && worker.current_job_id !== null && worker.status !== 'offline';

/**
 * Returns labels that only this worker has in this combination, so that a job with them runs here. Null when there are none; an empty
 * object when there is no other worker.
 */
export function identifyingLabels(
  worker: WorkerView,
  workers: Iterable<WorkerView>,
): Readonly<Record<string, string>> | null {
  // A job would read a value with a star as a pattern.
  const own = Object.entries(worker.labels).filter(([, value]) => !/[*?[\]\\]/.test(value));
  for (const other of workers)
    if (other.id !== worker.id && own.every(([key, value]) => other.labels[key] === value)) return null;
  return Object.fromEntries(own);
}
