import type { TrainerKeysCall } from '../connection/api-client.ts';
import { nameOfChoice, type ProbedTrainer } from '../trainers/index.ts';

export interface TrainerKeysDeps {
  readonly trainers: readonly ProbedTrainer[];
  /** Returns null when the keys of a trainer cannot be determined. */
  readonly read: (choice: ProbedTrainer['choice']) => Promise<readonly string[] | null>;
  readonly send: TrainerKeysCall;
}

/** Reports the keys of these trainers. If a report fails, the orchestrator requests it again at the next registration. */
export type ReportTrainerKeys = (wanted: readonly string[]) => Promise<void>;

/** Reading a list takes as long as importing the trainer, so each list is read once. */
export function createTrainerKeys({ trainers, read, send }: TrainerKeysDeps): ReportTrainerKeys {
  const lists = new Map<string, ReturnType<TrainerKeysDeps['read']>>();
  const listOf = (name: string): ReturnType<TrainerKeysDeps['read']> => {
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
