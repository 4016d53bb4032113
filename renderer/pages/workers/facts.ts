import type { WorkerView } from '../../../protocol/worker.ts';

/** The states to display, in the order of the filter chips. */
export const shownStates = [
  'idle',
  'busy',
  'connecting',
  'draining',
  'trouble',
  'quarantined',
  'offline',
] as const;
export type ShownState = (typeof shownStates)[number];

const words: readonly string[] = shownStates;
export const isShownState = (word: string): word is ShownState => words.includes(word);

/**
 * Returns the state to display. An idle worker that receives no jobs has its own state: `quarantined`, or `trouble` for
 * GPU problems.
 */
export function shownState({ status, quarantine, status_reason: reason }: WorkerView): ShownState {
  if (status !== 'idle') return status;
  if (quarantine !== null) return 'quarantined';
  return reason === 'gpu_trouble' ? 'trouble' : 'idle';
}

export function countStates(workers: Iterable<WorkerView>): ReadonlyMap<ShownState, number> {
  const counts = new Map<ShownState, number>();
  for (const worker of workers) {
    const state = shownState(worker);
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  return counts;
}

/** Shortens "NVIDIA A100-SXM4-80GB" to "A100-SXM4", because the memory is shown next to the name. */
export const gpuModel = (name: string): string =>
  name
    .replace(/^(NVIDIA|AMD|Intel(\(R\))?)\s+/i, '')
    .replace(/^GeForce\s+/i, '')
    .replace(/[\s-]\d+\s?GB\b.*$/i, '');

/** Returns the total memory of all GPUs in GiB; null if the worker reports none. */
export function vramTotal(worker: WorkerView): number | null {
  const { gpus } = worker.gpu_info;
  if (gpus.length > 0 && gpus.length === worker.gpu_count)
    return gpus.reduce((sum, gpu) => sum + gpu.vram_gb, 0);
  return worker.gpu_vram_gb === null || worker.gpu_count === 0 ? null : worker.gpu_vram_gb * worker.gpu_count;
}

/**
 * Rates the time since the last contact. Heartbeats arrive every 30 seconds. So a worker is `late` after one missing
 * heartbeat, and `lost` after about three. Offline workers are `good`, because their state already shows the problem.
 */
export function contactLevel({ status, last_contact_age_s: age }: WorkerView): 'good' | 'late' | 'lost' {
  if (status === 'offline' || age === null || age <= 45) return 'good';
  return age <= 90 ? 'late' : 'lost';
}

/** Returns why the server would refuse to delete the worker; null if the worker can be deleted. */
export function undeletableReason(worker: WorkerView): 'online' | 'has_job' | null {
  if (worker.registered_at !== null && worker.status !== 'offline') return 'online';
  return worker.current_job_id === null ? null : 'has_job';
}

/** Returns true for a v1 worker with a job, because such a worker stops its job when its token is refused. */
export const losesJobOnRotation = (worker: WorkerView): boolean =>
  worker.protocol === 1 && worker.current_job_id !== null && worker.status !== 'offline';

/**
 * Returns the worker's labels if no other worker has all of them. A job that requires these labels then runs on this
 * worker. Returns null if another worker has all of them, too. Without other workers, the labels may be empty.
 */
export function identifyingLabels(
  worker: WorkerView,
  workers: Iterable<WorkerView>,
): Readonly<Record<string, string>> | null {
  // Omit values with pattern characters, because a job would interpret them as patterns.
  const plainLabels = Object.entries(worker.labels).filter(([, value]) => !/[*?[\]\\]/.test(value));
  for (const other of workers)
    if (other.id !== worker.id && plainLabels.every(([key, value]) => other.labels[key] === value))
      return null;
  return Object.fromEntries(plainLabels);
}

/** Returns the temperature of the hottest GPU in degrees Celsius; null if no GPU reports its temperature. */
export function hottest({ status, gpu_figures: gpus }: WorkerView): number | null {
  const degreesOfGpus = gpus.flatMap(({ temperature_c: degrees }) => degrees ?? []);
  return status === 'offline' || degreesOfGpus.length === 0 ? null : Math.max(...degreesOfGpus);
}
