import type { JobWarning } from '../../../../protocol/job.ts';
import { type Trainer, trainerFor, type UnknownKey, unknownKeys } from '../../../../trainers/index.ts';
import type { Core } from '../../core.ts';
import type { JobPayload, JobSpec } from '../../model.ts';

/** A config with more unknown keys is probably for another program. */
const maxShown = 10;

/**
 * Warnings about keys of a config that are not in its trainer's own list. There are none before a worker has reported that list, and
 * none for tests of the fleet, which have no trainer.
 */
export function configWarnings(
  { trainerKeys }: Pick<Core, 'trainerKeys'>,
  { requirements }: Pick<JobSpec, 'requirements'>,
  config: () => JobPayload['config'] | null,
): readonly JobWarning[] {
  const known = requirements.trainer === undefined ? null : trainerKeys.known(requirements.trainer);
  const given = known === null ? null : config();
  if (known === null || given === null) return [];
  const trainer = trainerFor(given);
  return unknownKeys(trainer, given, known)
    .slice(0, maxShown)
    .map(unknown => warningOf(trainer, unknown));
}

function warningOf({ title, keys }: Trainer, { key, nearest }: UnknownKey): JobWarning {
  const outcome = keys?.unknown ?? 'ignored';
  const does = outcome === 'refused' ? 'and will not start with it' : 'and ignores it';
  const advice = nearest === null ? 'Remove it, or check its spelling' : `Did you mean "${nearest}"?`;
  return {
    code: `config_key_${outcome}`,
    worker_name: '',
    trainer: title,
    key,
    nearest_key: nearest,
    message: `${title} does not know the key "${key}" ${does}. ${advice}`,
  };
}
