import type { TrainerConfig } from '../protocol/job.ts';
import { nearestName } from '../protocol/nearest-name.ts';
import type { Trainer } from './trainer.ts';

/** A key of a config that its trainer does not know. */
export interface UnknownKey {
  /** Its place in the config, such as `config.process.0.train.step`. */
  readonly key: string;
  /** The known key that was probably meant; null when none is similar. */
  readonly nearest: string | null;
}

/** The maximum number of unknown keys to report. Finding the nearest key is expensive, because it compares all keys. */
const maxCompared = 20;

/** Returns the first 20 keys of a config that are not in its trainer's own list. */
export function unknownKeys(
  { keys }: Trainer,
  config: TrainerConfig,
  listedKeys: ReadonlySet<string>,
): readonly UnknownKey[] {
  if (keys === undefined) return [];
  const unknown: UnknownKey[] = [];
  for (const at of keys.of(config)) {
    const key = String(at.at(-1));
    if (key.startsWith('$') || listedKeys.has(key) || keys.accepts?.(key, listedKeys) === true) continue;
    unknown.push({ key: at.join('.'), nearest: nearestName(key, listedKeys) });
    if (unknown.length === maxCompared) break;
  }
  return unknown;
}
