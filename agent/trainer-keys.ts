import type { TrainerKeysCall } from './api-client.ts';
import { nameOfChoice, type ProbedTrainer } from './trainers/index.ts';

export interface TrainerKeysParts {
  readonly trainers: readonly ProbedTrainer[];
  /** Null where the keys of a trainer cannot be found out. */
  readonly read: (choice: ProbedTrainer['choice']) => Promise<readonly string[] | null>;
  readonly send: TrainerKeysCall;
}

/** Reports the keys of these trainers. What cannot be sent now is asked for again when the worker next registers. */
export type ReportTrainerKeys = (wanted: readonly string[]) => Promise<void>;

/** To read a list takes as long as the trainer takes to import, so each is read once. */
export function createTrainerKeys({ trainers, read, send }: TrainerKeysParts): ReportTrainerKeys {
  const lists = new Map<string, ReturnType<TrainerKeysParts['read']>>();
  const listOf = (name: string): ReturnType<TrainerKeysParts['read']> => {
    const found = trainers.find(({ choice, problem }) => problem === null && nameOfChoice(choice) === name);
    const list = lists.get(name) ?? (found === undefined ? Promise.resolve(null) : read(found.choice));
    lists.set(name, list);
    return list;
  };
  return async wanted => {
    for (const name of wanted) {
      const keys = await listOf(name);
      if (keys !== null) await send(name, keys);
    }
  };
}
