import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId } from '../../protocol/ids.ts';
import { pause } from '../retry/retry.ts';
import {
  hasLog,
  type Order,
  readExit,
  readGuard,
  readStop,
  readTask,
  readTrainer,
  type RunFolder,
  acknowledgedAt,
  acknowledgeRun,
  takeRun,
  type Task,
  writeStop,
} from '../guard/guard-files.ts';
import type { LaunchDeps } from '../guard/guard-launch.ts';
import { endGroup } from '../process/process-group.ts';
import { isRunning, type ProcessRef } from '../process/processes.ts';
import { attendRun, type Run } from './run.ts';
import { orphanGraceMs, type RunListeners } from './run-follow.ts';
import { type FinalReport, readReport } from '../state/state-folder.ts';

/** State that an earlier process of this agent left on disk: a run, or a final report that was not acknowledged. */
export type Found = FoundRun | FoundReport;

export interface FoundReport {
  readonly kind: 'reported';
  readonly report: FinalReport;
  /** The ended run of the reported attempt; absent when no trainer was ever started. */
  readonly run?: FoundRun;
}

export interface FoundRun {
  /** `ended`: the trainer exited while no agent was running, and its exit record is on disk. */
  readonly kind: 'running' | 'ended';
  readonly origin: Pick<
    Task,
    'jobId' | 'attemptId' | 'configName' | 'onLostContact' | 'contact' | 'outputDir' | 'rank'
  >;
  /** The stop order that an earlier process gave; null if none. */
  readonly order: Order | null;
  readonly attend: (listeners: RunListeners) => Run;
}

/** Maximum wait for a new guard to write its identity, in ms. */
const guardPatienceMs = 3_000;
const checkEveryMs = 50;

/**
 * Returns the run or unacknowledged report that this agent process adopts; null when there is none. Prefers a run whose
 * guard is alive, and stops all other running trainers. Removes runs without a result, but keeps their logs. The
 * orchestrator notices that the agent's heartbeats do not name these runs.
 */
export async function findRun(runsDir: string, deps: LaunchDeps): Promise<Found | null> {
  const runs: { readonly run: RunFolder; readonly found: Found }[] = [];
  for (const name of namesIn(runsDir)) {
    const run = { path: join(runsDir, name) };
    // Only the log of an acknowledged run is still needed (attempt-logs.ts).
    if (acknowledgedAt(run) !== null) continue;
    const found = AttemptId.safeParse(name).success ? await inspect(run, deps) : null;
    if (found !== null) runs.push({ run, found });
    else if (hasLog(run)) acknowledgeRun(run);
    else rmSync(run.path, { recursive: true, force: true });
  }
  // An agent runs one job at a time, so at most one run is expected. Other ended runs are reported after the agent's
  // next start.
  const adopted = runs.find(({ found }) => found.kind === 'running') ?? runs[0];
  for (const { run, found } of runs) {
    // Two trainers on one GPU would both fail.
    if (run !== adopted?.run && found.kind === 'running')
      writeStop(run, { order: 'abandon', graceMs: orphanGraceMs });
  }
  return adopted?.found ?? null;
}

async function inspect(run: RunFolder, deps: LaunchDeps): Promise<Found | null> {
  const report = readReport(run);
  if (report !== null) {
    const reportedRun = endedRun(run, null, deps);
    return { kind: 'reported', report, ...(reportedRun && { run: reportedRun }) };
  }
  const ended = async (): Promise<FoundRun | null> => {
    const order = (await readStop(run))?.order ?? null;
    return order === 'abandon' ? null : endedRun(run, order, deps);
  };
  if (readExit(run) !== null) return ended();
  const guard = await guardOf(run, deps);
  if (guard !== null && (await isRunning(deps.processes, guard))) {
    const running = foundRun(run, 'running', guard, (await readStop(run))?.order ?? null, deps);
    if (running !== null) return running;
    await endGuarded(run, guard, deps);
  }
  // The guard may have written the exit record between the two checks.
  if (readExit(run) !== null) return ended();
  const trainer = readTrainer(run);
  if (trainer !== null) await endGroup(trainer, orphanGraceMs, deps);
  return null;
}

/** Returns null when the folder has no readable task file, because the run's job is then unknown. */
function foundRun(
  run: RunFolder,
  kind: FoundRun['kind'],
  guard: ProcessRef | null,
  order: Order | null,
  deps: LaunchDeps,
): FoundRun | null {
  const task = readTask(run);
  if (task === null) return null;
  const attended = { run, guarded: { guard, trainer: readTrainer(run) }, logFile: task.logFile };
  const attend = (listeners: RunListeners): Run =>
    attendRun({ ...attended, isAdopted: true }, listeners, deps);
  return { kind, origin: task, order, attend };
}

/** Returns null when no exit record is on disk. */
const endedRun = (run: RunFolder, order: Order | null, deps: LaunchDeps): FoundRun | null =>
  readExit(run) === null ? null : foundRun(run, 'ended', null, order, deps);

/**
 * Returns the runs whose end is reported, but whose log is not fully sent. The orchestrator may also lack points of
 * their metrics.
 */
export const findAcknowledged = (runsDir: string, deps: LaunchDeps): readonly FoundRun[] =>
  namesIn(runsDir).flatMap(name => {
    const run = { path: join(runsDir, name) };
    return (acknowledgedAt(run) === null ? null : endedRun(run, null, deps)) ?? [];
  });

/**
 * Returns the guard of a run. If no guard has taken the run, calls off the run, so that no guard can take it later, and
 * returns null.
 */
async function guardOf(run: RunFolder, { clock }: LaunchDeps): Promise<ProcessRef | null> {
  if (takeRun(run, null)) return null;
  const givenUpAt = clock.mono() + guardPatienceMs;
  for (;;) {
    const guard = readGuard(run);
    if (guard === 'called_off') return null;
    if (guard !== null || clock.mono() > givenUpAt) return guard;
    await pause(clock, checkEveryMs, never);
  }
}

/** Stops a run without a readable task file. No agent can report such a run, because its job is unknown. */
async function endGuarded(run: RunFolder, guard: ProcessRef, deps: LaunchDeps): Promise<void> {
  const { processes, clock } = deps;
  writeStop(run, { order: 'abandon', graceMs: orphanGraceMs });
  const givenUpAt = clock.mono() + 2 * orphanGraceMs;
  while (clock.mono() < givenUpAt && (await isRunning(processes, guard)))
    await pause(clock, checkEveryMs, never);
}

const never = new AbortController().signal;

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
