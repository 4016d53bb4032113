import type { Command } from 'commander';
import { workersApi } from '../../../protocol/admin-api.ts';
import type { WorkerView } from '../../../protocol/worker.ts';
import { choose } from '../choose.ts';
import { CommandEnd } from '../failure.ts';
import { printOne } from '../output.ts';
import type { Remote } from '../remote.ts';
import { workerFacts } from './text.ts';

/** Adds a worker argument. Completion recognises it by its name. */
export const takesWorker = (command: Command): Command =>
  command.argument('<worker>', 'worker name, id, or the start of an id');

/** Finds the worker that a person names. */
export async function findWorker({ ask }: Remote, word = ''): Promise<WorkerView> {
  const { workers } = await ask(workersApi.list);
  const choice = choose(word, workers, { what: 'worker', called: worker => worker });
  if (choice.ok) return choice.value;
  throw new CommandEnd(choice.failure);
}

export const showWorker = (remote: Remote, worker: WorkerView): void =>
  printOne(remote, { answer: worker, facts: workerFacts(worker) });
