import { restrictedUses } from '../../protocol/config-policy.ts';
import { trainerFor, trainerNamed } from '../../trainers/index.ts';
import type { JobOffer, Nodes } from '../job.ts';
import { nameOfChoice, type TrainerChoice } from '../trainers/index.ts';

/** The trainers and limits that a rig offers to jobs. */
export interface RigOffer {
  /** This worker's name, for messages. */
  readonly name: string;
  readonly trainers: readonly TrainerChoice[];
  /** Whether the built-in trainers may run here. */
  readonly selftest: boolean;
  /** Restricted config keys that the rig's owner allows. */
  readonly allowedConfigKeys: readonly string[];
  /** The command of the sample training, with placeholders; null when it is not on this machine. */
  readonly sample: readonly string[] | null;
}

/** Returns the trainer of this rig for a config; null when the rig has none. */
export function choiceFor(
  { config }: JobOffer,
  { trainers }: Pick<RigOffer, 'trainers'>,
): TrainerChoice | null {
  const { name } = trainerFor(config);
  const byName = trainers.find(choice => nameOfChoice(choice) === name);
  const universal = trainers.find(choice => choice.kind === 'command' && choice.takesAll);
  // A config of an unknown trainer runs on SimpleTuner, which was the only trainer in earlier versions.
  const fallback = name === 'command' ? trainers.find(({ kind }) => kind === 'package') : undefined;
  return byName ?? universal ?? fallback ?? null;
}

/** Returns the message for a config whose trainer this rig does not have. */
export function missingTrainerMessage({ config }: JobOffer, { name, trainers }: RigOffer): string {
  const trainer = trainerFor(config);
  const titles = trainers.map(choice => trainerNamed(nameOfChoice(choice))?.title).join(', ');
  return `The config is for ${trainer.title}, and worker ${name} has ${titles || 'no trainer'}. The owner of the rig can add it with --trainer ${trainer.name}=...`;
}

/** Trainers that need only this program. A config selects them by name, and the rig's owner can disable them. */
export type BuiltIn = 'selftest' | 'digits';

/** Returns the built-in trainer that a config names; null for any other trainer. */
export const builtInOf = ({ trainer }: JobOffer['config']): BuiltIn | null =>
  trainer === 'selftest' || trainer === 'digits' ? trainer : null;

/** Returns why this rig does not run a built-in trainer; null when it does. */
export function refusalOf(builtIn: BuiltIn, rig: RigOffer): string | null {
  if (!rig.selftest)
    return builtIn === 'selftest'
      ? 'This rig runs no self-tests (--no-selftest)'
      : 'This rig runs no sample training (--no-selftest)';
  if (builtIn === 'selftest' || rig.sample !== null) return null;
  return (
    'The sample training is not on this rig: it comes with the source code of Trainyard, after npm ci, and not with the ' +
    'worker alone'
  );
}

const oneNodeTrainers: readonly string[] = ['ai-toolkit', 'onetrainer'];

/**
 * Returns why a trainer cannot train on several machines; null when it can, or when the job needs only one machine. The
 * machines are the nodes of this worker's allocation, or several workers.
 */
export function nodesRefusal(
  builtIn: BuiltIn | null,
  choice: TrainerChoice | null,
  { nodes }: { readonly nodes: Nodes | null },
  { node }: Pick<JobOffer, 'node'>,
): string | null {
  if (nodes === null && node === undefined) return null;
  if (nodes !== null && node !== undefined)
    return 'This worker trains on all nodes of its allocation, and not together with other workers';
  const machine = nodes === null ? 'machine' : 'node';
  if (builtIn !== null) return `The built-in trainings run on one ${machine}`;
  const name = choice === null ? '' : nameOfChoice(choice);
  if (!oneNodeTrainers.includes(name)) return null;
  return `${trainerNamed(name)?.title ?? name} trains on one ${machine} only. Submit the job without --nodes`;
}

/**
 * Returns why this rig refuses a config; null when it accepts the config. The server also checks configs. The worker does
 * not rely on that, because a path in a config could lead out of the job's folder.
 */
export function configRefusal(offer: JobOffer, rig: RigOffer, choice: TrainerChoice | null): string | null {
  const problem = choice?.kind === 'command' ? null : trainerFor(offer.config).problem(offer.config);
  return problem === null ? restrictedRefusal(offer, rig, choice) : `The config cannot be used: ${problem}`;
}

/** Returns a message that names the refused keys, the rig, and the flag with which the rig's owner can allow the keys. */
function restrictedRefusal(
  { config, dataloader }: JobOffer,
  rig: RigOffer,
  choice: TrainerChoice | null,
): string | null {
  const replaced = choice === null || choice.kind === 'command' ? [] : trainerFor(config).replacedKeys;
  const refused = restrictedUses(config, dataloader).filter(
    ({ key }) => !rig.allowedConfigKeys.includes(key) && !replaced.includes(key),
  );
  if (refused.length === 0) return null;
  const keysWithEffects = refused.map(({ key, effect }) => `"${key}" (${effect})`).join(', ');
  const keys = refused.map(({ key }) => key).join(',');
  return `Worker ${rig.name} does not allow this config to use ${keysWithEffects}. The owner of the rig can allow it with --allow-config-scripts ${keys}`;
}
