import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../agent/clock.ts';
import { readGuard, readTrainer, type RunFolder } from '../../agent/guard/guard-files.ts';
import { ownProcesses } from '../../agent/process/own-processes.ts';
import { endGroup } from '../../agent/process/process-group.ts';
import { isRunning } from '../../agent/process/processes.ts';

const deps = { processes: ownProcesses(process.env), clock: systemClock };

/** Kills a training and its guard, which both outlive their worker. */
export async function endTraining(run: RunFolder): Promise<void> {
  const guard = readGuard(run);
  const trainer = readTrainer(run);
  const isGuardRunning = guard !== null && guard !== 'called_off' && (await isRunning(deps.processes, guard));
  if (isGuardRunning) process.kill(guard.pid, 'SIGKILL');
  if (trainer !== null) await endGroup(trainer, 0, deps);
}

/** Kills all trainings of the workers whose state is below this folder. */
export async function endTrainings(stateHome: string): Promise<void> {
  const home = join(stateHome, 'trainyard');
  const runs = foldersIn(home).flatMap(worker => {
    const folder = join(home, worker, 'runs');
    return foldersIn(folder).map(name => ({ path: join(folder, name) }));
  });
  await Promise.all(runs.map(endTraining));
}

function foldersIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
