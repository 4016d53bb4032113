import type { WorkerId } from '../../../protocol/ids.ts';
import type { JobWarning, Requirements } from '../../../protocol/job.ts';
import {
  type Job,
  type JobSpec,
  offeringOf,
  type QueueSettings,
  type Worker,
  type JobPayload,
} from '../model.ts';
import { compileMatcher } from './matching.ts';
import type { Read } from '../ports/index.ts';
import { sendsOutputs } from '../v1-agent.ts';
import { type Trainer, trainerFor, type UnknownKey, unknownKeys } from '../../../trainers/index.ts';

interface KnownKeys {
  /** The config keys that a trainer knows; null before a worker has reported them. */
  known(trainer: string): ReadonlySet<string> | null;
}

/** Maximum number of warnings. A config with more unknown keys is probably for another program. */
const maxShown = 10;

/**
 * Returns warnings about config keys that are not in the trainer's own list. Empty before a worker has reported that list,
 * and for fleet tests, which have no trainer.
 */
export function configWarnings(
  { trainerKeys }: { readonly trainerKeys: KnownKeys },
  { requirements }: Pick<JobSpec, 'requirements'>,
  config: () => JobPayload['config'] | null,
): readonly JobWarning[] {
  const knownKeys = requirements.trainer === undefined ? null : trainerKeys.known(requirements.trainer);
  const givenConfig = knownKeys === null ? null : config();
  if (knownKeys === null || givenConfig === null) return [];
  const trainer = trainerFor(givenConfig);
  const isRefused = trainer.keys?.unknown === 'refused';
  return unknownKeys(trainer, givenConfig, knownKeys)
    .slice(0, maxShown)
    .map(unknown => warningOf(trainer, isRefused, unknown));
}

function warningOf({ title }: Trainer, isRefused: boolean, { key, nearest }: UnknownKey): JobWarning {
  const effect = isRefused ? 'and will not start with it' : 'and ignores it';
  const advice = nearest === null ? 'Remove it, or check its spelling' : `Did you mean "${nearest}"?`;
  return {
    code: isRefused ? 'config_key_refused' : 'config_key_ignored',
    worker_name: '',
    trainer: title,
    key,
    nearest_key: nearest,
    message: `${title} does not know the key "${key}" ${effect}. ${advice}`,
  };
}

type Needs = Pick<Requirements, 'trainer' | 'configKeys'>;
type Code = 'old_worker' | 'off' | 'checkpoints_only' | 'no_folder' | 'own_folder';

const messages: Readonly<Record<Code, (worker: string) => string>> = {
  old_worker: worker =>
    `Worker ${worker} is SimpleTuner's own, which uploads no files: outputs stay on its machine. Run Trainyard's worker there to get them`,
  off: worker =>
    `Worker ${worker} uploads no files (--upload none): outputs stay on its machine. Its owner can restart it without --upload`,
  checkpoints_only: worker =>
    `Worker ${worker} uploads checkpoints only (--upload checkpoints): other outputs stay on its machine. Its owner can restart it without --upload`,
  no_folder: worker =>
    `The trainer command of worker ${worker} has no {output_dir}: outputs stay on its machine unless the command uploads them itself. Its owner can add {output_dir} to --trainer`,
  own_folder: worker =>
    `Worker ${worker} lets this config choose its output_dir: outputs stay there. Remove output_dir from the config to get them here`,
};

/**
 * Returns a warning if a worker does not upload everything that a job writes. Empty if the worker uploads everything, or
 * if its agent does not report what it uploads. Also empty for fleet tests: they have no trainer, and no outputs.
 *
 * @internal
 */
export function outputWarnings(worker: Worker, needs: Needs): readonly JobWarning[] {
  const code = needs.trainer === undefined ? null : reasonFor(worker, needs.trainer, needs.configKeys);
  if (code === null) return [];
  return [{ code: `outputs_${code}`, worker_name: worker.name, message: messages[code](worker.name) }];
}

function reasonFor(worker: Worker, trainer: string, keys: readonly string[]): Code | null {
  if (!sendsOutputs(worker)) return 'old_worker';
  const { agent } = worker;
  const outputs = agent?.outputs ?? null;
  if (agent === null || outputs === null) return null;
  if (outputs.upload === 'none') return 'off';
  const isKnown = trainer !== 'command' && agent.trainers?.some(({ name }) => name === trainer) === true;
  if (!isKnown && outputs.commandHasOutputDir === false) return 'no_folder';
  // Only SimpleTuner uses the output folder in the config; all other known trainers write to the job's folder.
  const keepsOwn = isKnown && trainer === 'simpletuner' && agent.allowedConfigKeys?.includes('output_dir');
  if (keepsOwn === true && keys.includes('output_dir')) return 'own_folder';
  return outputs.upload === 'checkpoints' ? 'checkpoints_only' : null;
}

/** Warnings for the owner of a job about the worker that runs it. */
export function warningsAbout(read: Read, workerId: WorkerId | null, { spec }: Job): readonly JobWarning[] {
  const worker = workerId === null ? null : read.worker(workerId);
  return worker === null ? [] : outputWarnings(worker, spec.requirements);
}

/**
 * Returns output warnings for a job without a worker. Empty if any worker that could take the job has no warning.
 * Otherwise returns the warnings of the first such worker.
 */
export function sharedOutputWarnings(
  workers: readonly Worker[],
  { requirements }: JobSpec,
  settings: Pick<QueueSettings, 'maxLocalGpus'>,
): readonly JobWarning[] {
  const matches = compileMatcher(requirements);
  const able = workers.filter(worker => matches(offeringOf(worker, settings)).length === 0);
  const warnings = able.map(worker => outputWarnings(worker, requirements));
  return warnings.every(({ length }) => length > 0) ? (warnings[0] ?? []) : [];
}
