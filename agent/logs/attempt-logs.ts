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

/** Whether this file contains another attempt's log that has not been shipped completely. */
export type LogCheck = (file: string, attemptId: AttemptId) => boolean;

/**
 * Sends the logs of this rig's attempts to the orchestrator. Keeps a run's folder until the orchestrator acknowledges
 * the end of its log, even while later jobs run.
 */
export interface AttemptLogs {
  /** Sends what the attempt's trainer prints, without these secrets. Only the first call for an attempt counts. */
  follow(attemptId: AttemptId, secrets: readonly string[]): void;
  /** Call when the trainer prints nothing more. */
  finish(attemptId: AttemptId): void;
  /** Keeps the run's folder until this resolves with true, because another reader needs its log. */
  keepFor(attemptId: AttemptId, done: Promise<boolean>): void;
  /** Marks the attempt as reported. Its folder is removed when its log is fully sent. */
  acknowledge(attemptId: AttemptId): void;
  /** Continues with logs of attempts whose reports were acknowledged to an earlier process of the agent. */
  resume(): void;
  isTaken: LogCheck;
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

/** The maximum number of acknowledged runs with unsent logs. Beyond it, the oldest are dropped. */
const maxAcknowledged = 5;
/**
 * How long a log is retried after the acknowledged report. An orchestrator that was away for longer has forgotten the job, or does
 * not return.
 */
const patienceMs = 24 * 60 * 60 * 1000;
/** Each start of the agent retries for at least this long, because a wrong clock can make any log look old. */
const minPatienceMs = 60 * 60 * 1000;

interface Followed {
  readonly shipper: LogShipper;
  isAcknowledged: boolean;
  end: LogEnd | null;
  /** How many other readers still need the folder. */
  readers: number;
}

export function createAttemptLogs(deps: AttemptLogsDeps): AttemptLogs {
  const { state, clock, log } = deps;
  const { runsDir, runOf } = state;
  const pace = createLogPace(clock);
  const followed = new Map<AttemptId, Followed>();
  let isOlderKnown = false;

  const removeIfOver = (attemptId: AttemptId, run: Followed): void => {
    // It may already have been dropped to make room for a newer one.
    if (!isOver(run) || followed.get(attemptId) !== run) return;
    followed.delete(attemptId);
    state.dropReport(attemptId);
  };

  const begin = (attemptId: AttemptId, secrets: readonly string[]): Followed | null => {
    const shipper = shipperOf(attemptId, secrets, { ...deps, pace });
    if (shipper === null) return null;
    const isAcknowledged = acknowledgedAt(runOf(attemptId)) !== null;
    const run: Followed = { shipper, isAcknowledged, end: null, readers: 0 };
    followed.set(attemptId, run);
    void shipper.done.then(end => {
      run.end = end;
      if (end === 'older_orchestrator' && !isOlderKnown) log(olderOrchestrator);
      isOlderKnown ||= end === 'older_orchestrator';
      removeIfOver(attemptId, run);
    });
    return run;
  };

  /** Sends the rest of the log of an attempt whose report is acknowledged. */
  const drain = (attemptId: AttemptId): void => {
    const run = followed.get(attemptId) ?? begin(attemptId, []);
    if (run === null) return state.dropReport(attemptId);
    run.isAcknowledged = true;
    run.shipper.finish();
    removeIfOver(attemptId, run);
  };

  /** Never drops `newest`: after a clock change it may look like the oldest. */
  const makeRoom = (newest: AttemptId | null): void => {
    const others = acknowledgedIn(state).filter(id => id !== newest);
    for (const attemptId of others.slice(newest === null ? maxAcknowledged : maxAcknowledged - 1)) {
      followed.get(attemptId)?.shipper.stop();
      followed.delete(attemptId);
      state.dropReport(attemptId);
    }
  };

  return {
    follow(attemptId, secrets) {
      if (!followed.has(attemptId)) begin(attemptId, secrets);
    },
    finish: attemptId => followed.get(attemptId)?.shipper.finish(),
    keepFor(attemptId, done) {
      const run = followed.get(attemptId);
      if (run === undefined) return;
      run.readers += 1;
      void done.then(isDone => {
        if (!isDone) return;
        run.readers -= 1;
        removeIfOver(attemptId, run);
      });
    },
    acknowledge(attemptId) {
      const run = runOf(attemptId);
      try {
        if (readTask(run) !== null) acknowledgeRun(run);
      } catch {
        // Without its mark, the run would be reported again, so remove the folder.
        return state.dropReport(attemptId);
      }
      drain(attemptId);
      makeRoom(attemptId);
    },
    resume() {
      makeRoom(null);
      for (const attemptId of acknowledgedIn(state)) drain(attemptId);
    },
    isTaken: createLogCheck(runsDir),
    leave: withinMs =>
      leaveLogs(
        [...followed.values()].map(({ shipper }) => shipper),
        withinMs,
        clock,
      ),
  };
}

/** Whether nothing needs the run's folder any more. */
const isOver = ({ isAcknowledged, end, readers }: Followed): boolean =>
  isAcknowledged && end !== null && end !== 'left' && readers === 0;

const createLogCheck =
  (runsDir: string): LogCheck =>
  (file, attemptId) =>
    namesIn(runsDir).some(
      name => name !== attemptId && readTask({ path: join(runsDir, name) })?.logFile === file,
    );

/** Null when the run has no readable task: nothing was ever started. */
function shipperOf(
  attemptId: AttemptId,
  secrets: readonly string[],
  deps: AttemptLogsDeps & Pick<LogShipperDeps, 'pace'>,
): LogShipper | null {
  const run = deps.state.runOf(attemptId);
  const task = readTask(run);
  if (task === null) return null;
  const known = secrets.map(latin1);
  const now = deps.wall();
  return createLogShipper({
    ...deps,
    attemptId,
    log: createLogReader(run, task.logFile),
    ownLine: latin1(firstLine(task.logFile)),
    known: () => [...known, latin1(deps.token())],
    ship: (chunk, signal) => deps.ship(task.jobId, chunk, signal),
    leftMs: Math.max(minPatienceMs, patienceMs - Math.max(0, now - (acknowledgedAt(run) ?? now))),
  });
}

/** The acknowledged attempts, newest first. */
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
  'The orchestrator is of a version that takes no logs: what trainers print stays on this machine. Update it';

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
