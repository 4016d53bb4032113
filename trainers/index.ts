import type { TrainerConfig } from '../protocol/job.ts';
import { aiToolkit } from './ai-toolkit.ts';
import { diffusers } from './diffusers.ts';
import { kohya } from './kohya.ts';
import { onetrainer } from './onetrainer.ts';
import { simpletuner } from './simpletuner.ts';
import { type Trainer, type TrainerName, trainerNames } from './trainer.ts';

export {
  checkConfig,
  loadArguments,
  type TrainerArguments,
  type ValueFinding,
} from './arguments.ts';
export { type Completion, completionAt } from './completion.ts';
export { type ConfigFormat, configTextIn, formatOf, parseConfigText, parseFailure } from './config-text.ts';
export { argumentsOf } from './diffusers.ts';
export { type EditableText, openConfigText } from './edit-text.ts';
export { type FormField, formFieldsOf, placeOf } from './form-fields.ts';
export { type Bundle, dataOf, type FoundFile, gather, withPaths } from './gather.ts';
export { scriptOf as kohyaScript } from './kohya.ts';
export { likenessOf, stepsOf } from './likeness.ts';
export {
  type ParameterPlace,
  secretsOf,
  typeAtPlace,
  valueAtPlace,
  writeInFile,
} from './template-files.ts';
export { type Trainer, type TrainerName, trainerNames } from './trainer.ts';
export { type UnknownKey, unknownKeys } from './unknown-keys.ts';

/** Any program that a rig's owner has configured. Trainyard passes the config to the program without interpreting it. */
const command: Trainer = {
  name: 'command',
  title: 'a program of your own',
  recognises: () => true,
  defaultGpus: 0,
  replacedKeys: [],
  references: () => [],
  referencesIn: () => [],
  canResumeFrom: () => true,
  problem: () => null,
};

const trainers: Readonly<Record<TrainerName, Trainer>> = {
  simpletuner,
  'ai-toolkit': aiToolkit,
  kohya,
  onetrainer,
  diffusers,
  command,
};

/** Returns true if an object is not a config, but the content of a file that configs name, such as a library of prompts. */
export const isCompanion = (value: Readonly<Record<string, unknown>>): boolean =>
  Object.values(trainers).some(trainer => trainer.isCompanion?.(value) === true);

/** Returns the trainer with this name; null when this version does not know it. */
export const trainerNamed = (name: string): Trainer | null =>
  Object.values(trainers).find(trainer => trainer.name === name) ?? null;

/** Returns true for a config of a sample training, which is part of the worker program and needs no trainer. */
export const isBuiltIn = ({ trainer }: TrainerConfig): boolean =>
  trainer === 'selftest' || trainer === 'digits';

/** A config can name its trainer with this key, if the other keys do not identify the trainer. */
const trainerKey = '$trainer';

/** Returns the trainer for a config; `command` if no other trainer recognises the config. */
export function trainerFor(config: TrainerConfig): Trainer {
  const configuredName = trainerNames.find(name => name === config[trainerKey]);
  if (configuredName !== undefined) return trainers[configuredName];
  return Object.values(trainers).find(trainer => trainer.recognises(config)) ?? command;
}
