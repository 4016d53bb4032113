import type { Client } from '../../../../protocol/client.ts';
import { maxValueJobs } from '../../../../protocol/config-values.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';

type Values = Readonly<Record<string, string>>;

/** Reads the config values of visible rows, many jobs per request. Caches the values, because configs of jobs never change. */
export interface ConfigValueReader {
  /** Returns null until the values are loaded. Returns an empty object for jobs whose config the user may not see. */
  readonly valuesOf: (id: JobId) => Values | null;
  /** Loads the values of a job unless they are loaded or requested already. */
  readonly want: (id: JobId) => void;
  readonly subscribe: (onChange: () => void) => () => void;
}

/** Delay before a request, so that rows that become visible at almost the same time share one request. */
const batchDelayMs = 50;
/** Maximum number of jobs in the cache. A full cache is cleared. */
const maxKept = 5_000;
const nothing: Values = {};

export function createConfigValueReader(client: Client, keys: readonly string[]): ConfigValueReader {
  const valuesByJob = new Map<JobId, Values | null>();
  const requested = new Set<JobId>();
  const listeners = new Set<() => void>();
  let isPlanned = false;
  const read = async (): Promise<void> => {
    isPlanned = false;
    const ids = [...requested].slice(0, maxValueJobs);
    for (const id of ids) requested.delete(id);
    if (requested.size > 0) plan();
    const query = { jobs: ids.join(), keys: keys.join() };
    const answer = await client.call(queueApi.configValues, { query });
    for (const id of ids) {
      // After a failure, forget the job, so that its row requests the values again when it is shown next.
      if (answer.ok) valuesByJob.set(id, answer.value.values[id] ?? nothing);
      else valuesByJob.delete(id);
    }
    for (const onChange of listeners) onChange();
  };
  const plan = (): void => {
    if (isPlanned) return;
    isPlanned = true;
    setTimeout(() => void read(), batchDelayMs);
  };
  return {
    valuesOf: id => valuesByJob.get(id) ?? null,
    want(id) {
      if (valuesByJob.has(id)) return;
      if (valuesByJob.size >= maxKept) valuesByJob.clear();
      valuesByJob.set(id, null);
      requested.add(id);
      plan();
    },
    subscribe(onChange) {
      listeners.add(onChange);
      return () => void listeners.delete(onChange);
    },
  };
}
