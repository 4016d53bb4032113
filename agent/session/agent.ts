import type { RegistrationBody, StatusReportBody } from '../../protocol/worker-api.ts';
import type { UpdateOrder } from '../../protocol/worker-update.ts';
import type { Found, FoundRun } from '../attempt/adopt.ts';
import type { Ask } from '../attempt/trainer-actions.ts';
import type { Availability } from '../availability/availability.ts';
import { type AgentState, initialState } from './agent-state.ts';
import { type Closing, createClosing } from './closing.ts';
import { type ApiClient, type CallsInFlight, noteContacts, trackInFlight } from '../connection/api-client.ts';
import type { AttemptLogs } from '../logs/attempt-logs.ts';
import type { AttemptOutputs } from '../artifacts/attempt-outputs.ts';
import { pause } from '../retry/retry.ts';
import { beatUntil, type BeatDeps, reportChanges, sendBeat } from './heartbeat.ts';
import type { Clock } from '../clock.ts';
import type { FollowStream } from '../connection/command-stream.ts';
import { createCurves, type CurveDeps, type Curves } from '../metrics/curves.ts';
import { catchUpCurve } from '../attempt/held-attempt.ts';
import { createJobSlot, type JobSlot, type SlotDeps } from './job-slot.ts';
import { createProgressReporter, createReporter } from '../attempt/reports.ts';
import { runSessions, type SessionDeps } from './session.ts';
import type { Registrations, StateFolder } from '../state/state-folder.ts';
import type { Telemetry } from './telemetry.ts';
import type { TokenHolder } from './worker-token.ts';
import type { ReportTrainerKeys } from '../trainers/known-keys.ts';
import { createConnectionWarnings } from '../connection/connection-warnings.ts';

export interface AgentDeps {
  readonly clock: Clock;
  /** ms on a clock that the agent shares with its guards; see `machineUptime`. */
  readonly uptime: () => number;
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  readonly url: string;
  readonly token: TokenHolder;
  readonly persistent: boolean;
  /** The part of the registration that does not change while the agent runs. */
  readonly introduction: RegistrationBody;
  readonly state: Pick<StateFolder, 'keepReport' | 'dropReport'>;
  readonly registrations: Registrations;
  /** State that an earlier process of this agent left on disk. */
  readonly found: Found | null;
  /** Runs of earlier processes whose end is reported, but whose log or points are not fully sent. */
  readonly acknowledgedRuns?: readonly FoundRun[];
  readonly jobs: Pick<
    SlotDeps,
    'prepare' | 'fetchCheckpoint' | 'fetchData' | 'fetchInputs' | 'reachable' | 'start' | 'onLine'
  >;
  /** Sends the output of trainers to the orchestrator. When absent, the output stays on this machine. */
  readonly logs?: Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor' | 'leave'>;
  /** Requests a checkpoint or samples from the trainer. When absent, the agent ignores such requests. */
  readonly ask?: Ask;
  /** Uploads the files that trainers write. When absent, the files stay on this machine. */
  readonly outputs?: Pick<
    AttemptOutputs,
    'follow' | 'finish' | 'rescue' | 'leave' | 'hasten' | 'saved' | 'saveMs'
  >;
  /** GPU metrics for the next heartbeat. */
  readonly telemetry: () => Telemetry;
  /** Returns the dataset versions on this machine, most recently used first. When absent, the agent reports none. */
  readonly datasets?: () => readonly string[];
  /** Reports the config keys of trainers. When absent, the agent reports none. */
  readonly trainerKeys?: ReportTrainerKeys;
  /** GPU metrics for the curves of the running job. */
  readonly gpuFigures: CurveDeps['gpuFigures'];
  /** Reads the metrics files that trainers write. When absent, the agent reads none. */
  readonly files?: CurveDeps['files'];
  /** Replaces this program when the orchestrator orders an update. When absent, the agent ignores such orders. */
  readonly update?: (order: UpdateOrder) => void;
  /** Called when the agent is registered and its stream is open. */
  readonly onConnected?: () => void;
  /** Decides when the rig takes jobs. When absent, the rig always takes jobs. */
  readonly availability?: Availability;
  readonly random: () => number;
  readonly log: (message: string) => void;
}

export interface Agent {
  /** Runs until the agent has left. Resolves with the exit code. */
  run(): Promise<number>;
  /** Finishes the current job, then leaves. A second call skips the remaining uploads. */
  leave(): void;
  /** Stops the current job, reports it, and leaves. */
  leaveNow(): void;
  /** Call when a signal has announced that the machine will be taken away. Saves and stops the job in time, and leaves. */
  notice(signal: string): void;
  /**
   * Leaves immediately, without the disconnect call. The job continues under its guard, and the agent's next process
   * adopts it. Returns false, and does nothing, when there is no job.
   */
  handOver(): boolean;
  /** Like `handOver`, but also leaves when there is no job. */
  handOverAnyway(): void;
  /** Whether the next process can continue the job: its trainer runs under its guard, or there is no job. */
  canHandOver(): boolean;
}

const exitCodes = { left: 0, refused: 2, rejected: 3 } as const;
/** Whether this report ends the attempt, and so frees the worker. */
const isLast = ({ status }: StatusReportBody): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
/** Time in ms for the final report after `leaveNow`, in addition to the grace period. */
const finalReportMs = 5_000;
/** Time in ms to send the rest of the logs, while the orchestrator answers. The next start sends what remains. */
const logsMs = 5_000;
/** Time in ms to upload the remaining files of completed jobs. A persistent worker continues after its next start. */
const outputsMs = { ephemeral: 600_000, persistent: 5_000 } as const;
/** Time in ms for the last points and for outstanding responses, before the disconnect call. */
const beforeDisconnectMs = 2_000;

/** Sends the remaining logs and files of runs that have ended. */
async function sendRemaining({ logs, outputs, persistent }: AgentDeps, hurry: AbortSignal): Promise<void> {
  await logs?.leave(logsMs);
  await outputs?.leave(persistent ? outputsMs.persistent : outputsMs.ephemeral, hurry);
}

/**
 * Creates the agent, which runs the loops of a worker. One loop registers and follows the stream, repeatedly. The
 * heartbeat loop runs beside it and stops last. The slot runs the current job.
 */
export function createAgent(deps: AgentDeps): Agent {
  const { clock, random, log } = deps;
  const state = initialState();
  /** Fires when the agent stops registering and following the stream. */
  const over = new AbortController();
  /** Fires when the agent must leave without waiting for reports and uploads. */
  const hurry = new AbortController();
  /** Fires when the agent has ended. Cancels pending waits and retries. */
  const ended = new AbortController();
  const inFlight = trackInFlight(deps.api, clock);
  const api = noteContacts(inFlight.api, deps.uptime, sentAt => {
    slot.contact(sentAt);
    closing.contact();
  });
  const troubles = createConnectionWarnings(clock, deps.url, log);
  const report = createReporter({ clock, api, random, onTrouble: troubles.warn });
  const curves = createCurves({ ...deps, api, ended: ended.signal });
  const closing: Closing = createClosing({
    clock,
    availability: deps.availability ?? null,
    saveMs: () => deps.outputs?.saveMs() ?? null,
    slot: () => slot,
    report: () => void sendBeat(shared),
    leave: () => leaving.leaveOnce(),
    leaveNow: () => leaving.endNow(),
    log,
    ended: ended.signal,
  });
  const slot: JobSlot = createJobSlot({
    ...deps.jobs,
    clock,
    ...(deps.ask && { ask: deps.ask }),
    isClosed: () => closing.closed() !== null,
    ...(deps.logs && { logs: deps.logs }),
    ...(deps.outputs && { outputs: deps.outputs }),
    curve: curves.open,
    async report(job, attempt, body, signal) {
      if (isLast(body)) await reportChanges(shared);
      return report(job, attempt, body, AbortSignal.any([signal, hurry.signal, ended.signal]));
    },
    reportProgress: createProgressReporter({ clock, api, ended: ended.signal, slot: () => slot }),
    keep: deps.state.keepReport,
    drop: deps.state.dropReport,
    limits: () => ({ timeoutMs: state.timeoutMs, graceMs: state.graceMs }),
    log,
    onFree: worked => {
      if (worked && !deps.persistent) state.leaving = true;
      if (state.leaving) over.abort();
      return !state.leaving && closing.closed() === null;
    },
  });

  const shared = { ...deps, api, state, slot, troubles, closing, over: over.signal };
  const leaving = createLeaving({ state, slot, over, hurry });
  const { leave, isHandedOver } = leaving;

  return {
    ...leaving,
    notice: closing.noticeSignal,
    leaveNow() {
      slot.leaveNow();
      leave();
      void pause(clock, state.graceMs + finalReportMs, ended.signal).then(isLate => {
        hurry.abort();
        // If the trainer still runs, its guard completes the stop.
        if (isLate) over.abort();
      });
    },
    canHandOver: slot.canHandOver,
    run: () =>
      runAgent(deps, {
        ...shared,
        leave,
        curves,
        inFlight,
        hurry: hurry.signal,
        ended,
        isHandedOver,
      }),
  };
}

interface LeavingDeps {
  readonly state: AgentState;
  readonly slot: JobSlot;
  readonly over: AbortController;
  readonly hurry: AbortController;
}

function createLeaving({ state, slot, over, hurry }: LeavingDeps) {
  let isHandedOver = false;
  const handOverAnyway = (): void => {
    isHandedOver = true;
    over.abort();
  };
  const leave = (): void => {
    state.leaving = true;
    // A second request to leave skips the remaining uploads.
    if (over.signal.aborted) hurry.abort();
    if (slot.held() === null) over.abort();
  };
  return {
    leave,
    handOverAnyway,
    handOver(): boolean {
      if (slot.held() === null) return false;
      handOverAnyway();
      return true;
    },
    isHandedOver: () => isHandedOver,
    /** Like `leave`, but never counts as a second request. */
    leaveOnce: (): void => (state.leaving ? undefined : leave()),
    /** Leaves although reports and uploads are not done. */
    endNow(): void {
      hurry.abort();
      over.abort();
    },
  };
}

type RunningDeps = SessionDeps &
  BeatDeps & {
    readonly api: ApiClient;
    readonly closing: Closing;
    readonly inFlight: CallsInFlight;
    readonly curves: Curves;
    readonly hurry: AbortSignal;
    readonly ended: AbortController;
    readonly isHandedOver: () => boolean;
  };

/** Runs the loops until the agent has left. Resolves with the exit code. */
async function runAgent(deps: AgentDeps, running: RunningDeps): Promise<number> {
  const { slot, closing, curves, inFlight, api, state, hurry, ended, isHandedOver } = running;
  const { found, logs } = deps;
  for (const run of deps.acknowledgedRuns ?? [])
    catchUpCurve(run, { curve: curves.open, ...(logs && { logs }) });
  if (found !== null) slot.resume(found);
  closing.start();
  const beats = new AbortController();
  const heartbeats = beatUntil(beats.signal, running);
  const ending = await runSessions(running);
  const remaining = slot.held();
  if (ending !== 'left' && remaining !== null)
    running.log(
      `Job ${remaining.jobId} continues without this worker. Correct the problem and start the worker again, to continue with the job`,
    );
  // A trainer that still runs continues under its guard.
  slot.release();
  if (ending === 'left' && !isHandedOver()) await sendRemaining(deps, hurry);
  beats.abort();
  if (ending === 'left' && remaining === null) await curves.drained(beforeDisconnectMs);
  ended.abort();
  if (ending === 'left' && !isHandedOver()) {
    await heartbeats;
    // The disconnect must be the last call, because a later call would mark the worker as connected again.
    await inFlight.drained(beforeDisconnectMs);
    if (state.workerId !== null) await api.disconnect(state.workerId);
  }
  return exitCodes[ending];
}
