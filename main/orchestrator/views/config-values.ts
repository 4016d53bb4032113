import { flatten, type FlatConfig } from '../../../protocol/compare-configs.ts';
import { columnKeys, valueText } from '../../../protocol/config-values.ts';
import type { JobId } from '../../../protocol/ids.ts';
import type { Core } from '../core.ts';

/** Maximum number of characters of a config. Longer configs return no values, because a request can name many jobs. */
const maxLength = 65_536;

export interface ValuesWanted {
  readonly jobs: readonly JobId[];
  /** The keys to read; null to list the keys in which the configs differ. */
  readonly keys: readonly string[] | null;
  /** Reads only the jobs of this user; null for all. */
  readonly only: string | null;
}

/** Reads single values from the configs of jobs, for columns of a table. */
export function readConfigValues({ store }: Core, { jobs, keys, only }: ValuesWanted) {
  const configs = new Map<JobId, FlatConfig>();
  for (const id of new Set(jobs)) {
    const config = only === null || store.job(id)?.user === only ? store.configOf(id, maxLength) : null;
    if (config !== null) configs.set(id, flatten(config));
  }
  if (keys === null) return { values: {}, keys: columnKeys([...configs.values()]) };
  const valuesOf = (config: FlatConfig): Record<string, string> =>
    Object.fromEntries(
      keys.flatMap(key => {
        const text = valueText(config, key);
        return text === undefined ? [] : [[key, text] as const];
      }),
    );
  return {
    values: Object.fromEntries([...configs].map(([id, config]) => [id, valuesOf(config)])),
    keys: [],
  };
}
