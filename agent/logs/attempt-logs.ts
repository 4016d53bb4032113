import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId } from '../../protocol/ids.ts';
import type { ShipCall } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import { readTask, acknowledgedAt, acknowledgeRun } from '../guard/guard-files.ts';
import { firstLine } from '../guard/log-disk.ts';
import { createLogReader } from './log-reader.ts';
import {
  createLogPace,
  createLogShipper,
  leaveLogs,
  type LogEnd,
  type LogShipper,
  type LogShipperDeps,
} from './log-shipper.ts';
import { latin1 } from './redact.ts';
import type { StateFolder } from '../state/state-folder.ts';

/** Returns whether another attempt still uses this log file, because the log of that attempt is not completely sent. */
export type LogCheck = (file: string, attemptId: AttemptId) => boolean;

/**
 * Sends the logs of this rig's attempts to the orchestrator. Keeps a run's folder until the orchestrator acknowledges
 * the end of its log, even while later jobs run.
 */
export interface AttemptLogs {
  /**
   * Starts to send the output of the attempt's trainer, without these secrets. Only the first call for an attempt
   * counts.
   */
  follow(attemptId: AttemptId, secrets: readonly string[]): void;
  /** Call when the output of the trainer is complete. */
  finish(attemptId: AttemptId): void;
  /** Keeps the run's folder until `done` resolves with true, because another reader needs the log. */
  keepFor(attemptId: AttemptId, done: Promise<boolean>): void;
  /**
   * Call when the orchestrator has acknowledged the final report. Removes the run's folder when the log is completely
   * sent.
   */
  acknowledge(attemptId: AttemptId): void;
  /** Continues to send the logs of ended attempts that an earlier process of the agent has left. */
  resume(): void;
  isUsedByOtherAttempt: LogCheck;
  /** Resolves when all finished logs are sent, when the orchestrator does not answer, or after `withinMs`. */
  leave(withinMs: number): Promise<void>;
}

export interface AttemptLogsDeps {
  readonly state: Pick<StateFolder, 'runsDir' | 'runOf' | 'dropReport'>;
  readonly ship: ShipCall;
  /** Returns the current worker token. */
  readonly token: () => string;
  readonly clock: Clock;
  /** ms since 1970. */
  readonly wall: () => number;
  readonly random: () => number;
  readonly log: (message: string) => void;
  /** Fires when the agent has ended. */
  readonly signal: AbortSignal;
}

/** The maximum number of acknowledged runs with unsent logs. If there are more, the agent drops the oldest. */
const maxAcknowledged = 5;
/**
 * The agent retries to send a log for this time in ms after the report was acknowledged. If the orchestrator is
 * unreachable for longer, it has probably lost the job or will not return.
 */
const retryForMs = 24 * 60 * 60 * 1000;
/** Each start of the agent retries for at least this time, because a wrong clock can make any log look old. */
const minRetryMs = 60 * 60 * 1000;

interface ShippedLog {
  readonly shipper: LogShipper;
  isAcknowledged: boolean;
  end: LogEnd | null;
  /** The number of other readers that still need the folder. */
  readers: number;
}

export function createAttemptLogs(deps: AttemptLogsDeps): AttemptLogs {
  const { state, clock, log } = deps;
  const { runsDir, runOf } = state;
  const pace = createLogPace(clock);
  const logs = new Map<AttemptId, ShippedLog>();
  let isOlderLogged = false;

  const removeFolderIfDone = (attemptId: AttemptId, run: ShippedLog): void => {
    // The log may already have been dropped in favour of a newer one.
    if (!canRemoveFolder(run) || logs.get(attemptId) !== run) return;
    logs.delete(attemptId);
    state.dropReport(attemptId);
  };

  const startShipper = (attemptId: AttemptId, secrets: readonly string[]): ShippedLog | null => {
    const shipper = shipperOf(attemptId, secrets, { ...deps, pace });
    if (shipper === null) return null;
    const isAcknowledged = acknowledgedAt(runOf(attemptId)) !== null;
    const run: ShippedLog = { shipper, isAcknowledged, end: null, readers: 0 };
    logs.set(attemptId, run);
    void shipper.done.then(end => {
      run.end = end;
      if (end === 'older_orchestrator' && !isOlderLogged) log(olderOrchestrator);
      isOlderLogged ||= end === 'older_orchestrator';
      removeFolderIfDone(attemptId, run);
    });
    return run;
  };

  /** Sends the rest of the log of an attempt whose report is acknowledged. */
  const drain = (attemptId: AttemptId): void => {
    const run = logs.get(attemptId) ?? startShipper(attemptId, []);
    if (run === null) return state.dropReport(attemptId);
    run.isAcknowledged = true;
    run.shipper.finish();
    removeFolderIfDone(attemptId, run);
  };

  /** Drops the oldest logs, but never `newest`, which may look like the oldest after a clock change. */
  const makeRoom = (newest: AttemptId | null): void => {
    const others = acknowledgedIn(state).filter(id => id !== newest);
    for (const attemptId of others.slice(newest === null ? maxAcknowledged : maxAcknowledged - 1)) {
      logs.get(attemptId)?.shipper.stop();
      logs.delete(attemptId);
      state.dropReport(attemptId);
    }
  };

  return {
    follow(attemptId, secrets) {
      if (!logs.has(attemptId)) startShipper(attemptId, secrets);
    },
    finish: attemptId => logs.get(attemptId)?.shipper.finish(),
    keepFor(attemptId, done) {
      const run = logs.get(attemptId);
      if (run === undefined) return;
      run.readers += 1;
      void done.then(isDone => {
        if (!isDone) return;
        run.readers -= 1;
        removeFolderIfDone(attemptId, run);
      });
    },
    acknowledge(attemptId) {
      const run = runOf(attemptId);
      try {
        if (readTask(run) !== null) acknowledgeRun(run);
      } catch {
        // The acknowledgement could not be written to disk. Remove the folder, or the next process would report the run
        // again.
        return state.dropReport(attemptId);
      }
      drain(attemptId);
      makeRoom(attemptId);
    },
    resume() {
      makeRoom(null);
      for (const attemptId of acknowledgedIn(state)) drain(attemptId);
    },
    isUsedByOtherAttempt: createLogCheck(runsDir),
    leave: withinMs =>
      leaveLogs(
        [...logs.values()].map(({ shipper }) => shipper),
        withinMs,
        clock,
      ),
  };
}

/** Whether the run's folder can be removed. */
const canRemoveFolder = ({ isAcknowledged, end, readers }: ShippedLog): boolean =>
  isAcknowledged && end !== null && end !== 'left' && readers === 0;

const createLogCheck =
  (runsDir: string): LogCheck =>
  (file, attemptId) =>
    namesIn(runsDir).some(
      name => name !== attemptId && readTask({ path: join(runsDir, name) })?.logFile === file,
    );

/**
 * Starts to send the log of an attempt. Returns null when the run has no readable task, because then no trainer was
 * started. Also returns null on a worker that is not the first of its attempt, because its log stays on this machine.
 */
function shipperOf(
  attemptId: AttemptId,
  secrets: readonly string[],
  deps: AttemptLogsDeps & Pick<LogShipperDeps, 'pace'>,
): LogShipper | null {
  const run = deps.state.runOf(attemptId);
  const task = readTask(run);
  if (task === null || (task.rank ?? 0) > 0) return null;
  const jobSecrets = secrets.map(latin1);
  const now = deps.wall();
  return createLogShipper({
    ...deps,
    attemptId,
    log: createLogReader(run, task.logFile),
    ownLine: latin1(firstLine(task.logFile)),
    knownSecrets: () => [...jobSecrets, latin1(deps.token())],
    ship: (chunk, signal) => deps.ship(task.jobId, chunk, signal),
    giveUpAfterMs: Math.max(minRetryMs, retryForMs - Math.max(0, now - (acknowledgedAt(run) ?? now))),
  });
}

/** Returns the acknowledged attempts, newest first. */
const acknowledgedIn = ({ runsDir, runOf }: AttemptLogsDeps['state']): readonly AttemptId[] =>
  namesIn(runsDir)
    .flatMap(name => {
      const id = AttemptId.safeParse(name);
      const at = id.success ? acknowledgedAt(runOf(id.data)) : null;
      return id.success && at !== null ? [{ id: id.data, at }] : [];
    })
    .toSorted((a, b) => b.at - a.at)
    .map(({ id }) => id);

const olderOrchestrator =
  'This version of the orchestrator does not support logs, so the output of trainers stays on this machine. Update it';

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
