import type { TrainerConfig } from '../protocol/job.ts';
import { nearestName } from '../protocol/nearest-name.ts';
import type { Trainer } from './trainer.ts';

/** A key of a config that its trainer does not know. */
export interface UnknownKey {
  /** Path of the key in the config, such as `config.process.0.train.step`. */
  readonly key: string;
  /** The known key that the user probably meant; null when none is similar. */
  readonly nearest: string | null;
}

/** Maximum number of unknown keys to report. Each is compared with all known keys, which is expensive. */
const maxReported = 20;

/** Returns the first 20 keys of a config that are not in the trainer's list. */
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
    if (unknown.length === maxReported) break;
  }
  return unknown;
}
