import type { DatasetView } from '../../../protocol/datasets-api.ts';
import type { WorkerId } from '../../../protocol/ids.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import type { Translator } from '../../i18n/index.ts';
import { sizeText } from '../jobs/figures.ts';

/** The rigs that have a version of a dataset. */
export interface RigsWith {
  /** Names of the workers that have the version; the server names at most 20. */
  readonly names: readonly string[];
  /** Number of workers that have the version. */
  readonly count: number;
  /** Names of the workers without the version; null if `names` is incomplete. */
  readonly missing: readonly string[] | null;
}

/** Returns null if the user may not list workers, because the server then sends no names. */
export function rigsWith(
  { workers: names, workers_count: count = names?.length ?? 0 }: DatasetView,
  fleet: ReadonlyMap<WorkerId, WorkerView>,
): RigsWith | null {
  if (names === undefined) return null;
  const having = new Set(names);
  const known = [...fleet.values()].filter(({ registered_at: at }) => at !== null);
  const missing = known.map(({ name }) => name).filter(name => !having.has(name));
  return { names, count, missing: count > names.length ? null : missing };
}

const maxNames = 3;

/** Returns up to three names, and the number of the others. */
export function namesText(names: readonly string[], count: number, t: Translator): string {
  const shown = names.slice(0, maxNames).join(', ');
  return count <= maxNames ? shown : t('data.rigs.more', { names: shown, count: count - maxNames });
}

/** Names the rigs that have a version, with the size that other rigs must download. Returns null if the rigs are unknown. */
export function placesText(dataset: DatasetView, t: Translator): string | null {
  const { workers: names, workers_count: count = names?.length ?? 0, bytes } = dataset;
  if (names === undefined) return null;
  const size = sizeText(bytes, t.language);
  return count === 0
    ? t('data.rigs.nowhere', { size })
    : t('data.rigs.others', { names: namesText(names, count, t), size });
}
