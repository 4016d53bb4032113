import type { TrainerName } from '../../trainers/index.ts';
import { aiToolkitLaunch, diffusersLaunch, kohyaLaunch, onetrainerLaunch } from './checkouts.ts';
import type { Launch, LaunchInput } from './launch.ts';
import { simpletunerLaunch } from './simpletuner.ts';

export { nameOfChoice, parseTrainers, pythonOf, type TrainerChoice } from './choice.ts';
export { type Requested, type TrainerRequest, trainerRequests } from './requests.ts';
export { readKnownKeys } from './known-keys.ts';
export { type JobPlaces, spellingOf } from './launch.ts';
export { describeTrainer, type TrainerProbeDeps, probeTrainers, type ProbedTrainer } from './probe.ts';

/** Functions that prepare the start of each known trainer. Programs of the owner get the unchanged config instead. */
export const launches: Readonly<Record<Exclude<TrainerName, 'command'>, (input: LaunchInput) => Launch>> = {
  simpletuner: simpletunerLaunch,
  'ai-toolkit': aiToolkitLaunch,
  kohya: kohyaLaunch,
  onetrainer: onetrainerLaunch,
  diffusers: diffusersLaunch,
};
