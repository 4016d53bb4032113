import type { TrainerConfig } from '../protocol/job.ts';
import { aiToolkit } from './ai-toolkit.ts';
import { command } from './command.ts';
import { diffusers } from './diffusers.ts';
import { kohya } from './kohya.ts';
import { onetrainer } from './onetrainer.ts';
import { simpletuner } from './simpletuner.ts';
import { type Trainer, type TrainerName, trainerNames } from './trainer.ts';

export { configTextIn, formatOf, parseConfigText, parseFailure } from './config-text.ts';
export {
  type Bundle,
  dataOf,
  type FoundFile,
  gather,
  withPaths,
} from './gather.ts';
export { type Trainer, type TrainerName, trainerNames } from './trainer.ts';
export { type UnknownKey, unknownKeys } from './unknown-keys.ts';

export { argumentsOf } from './diffusers.ts';
export { scriptOf as kohyaScript } from './kohya.ts';

const trainers: Readonly<Record<TrainerName, Trainer>> = {
  simpletuner,
  'ai-toolkit': aiToolkit,
  kohya,
  onetrainer,
  diffusers,
  command,
};

/** Whether an object in a file is not a config, but something that configs of some trainer name. */
export const isCompanion = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.values(trainers).some(trainer => trainer.isCompanion?.(value) === true);

/** Null for a name that this version does not know. */
export const trainerNamed = (name: string): Trainer | null =>
  Object.values(trainers).find(trainer => trainer.name === name) ?? null;

/** Sample trainings that are part of the worker program, and need no trainer. */
export const isBuiltIn = ({ trainer }: TrainerConfig): boolean =>
  trainer === 'selftest' || trainer === 'digits';

/** A config can name its trainer with this key, for when its other keys do not identify it. */
const trainerKey = '$trainer';

/** The trainer that a config is for. Configs that no known trainer recognises are for a program of the rig's owner. */
export function trainerFor(config: TrainerConfig): Trainer {
  const named = trainerNames.find(name => name === config[trainerKey]);
  if (named !== undefined) return trainers[named];
  return Object.values(trainers).find(trainer => trainer.recognises(config)) ?? command;
}
