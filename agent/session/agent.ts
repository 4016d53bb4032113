import type { RegistrationBody, StatusReportBody } from '../../protocol/worker-api.ts';
import type { Found, FoundRun } from '../attempt/adopt.ts';
import type { Ask } from '../attempt/trainer-actions.ts';
import { initialState } from './agent-state.ts';
import { type ApiClient, noteContacts, trackInFlight } from '../connection/api-client.ts';
import type { AttemptLogs } from '../logs/attempt-logs.ts';
import type { AttemptOutputs } from '../artifacts/attempt-outputs.ts';
import { pause } from '../retry/retry.ts';
import { beatUntil, type BeatDeps, reportChanges } from './heartbeat.ts';
import type { Clock } from '../clock.ts';
import type { FollowStream } from '../connection/command-stream.ts';
import { createCurves, type CurveDeps } from '../metrics/curves.ts';
import { catchUpCurve } from '../attempt/held-attempt.ts';
import { createJobSlot, type JobSlot, type SlotDeps } from './job-slot.ts';
import { createProgressReporter, createReporter } from '../attempt/reports.ts';
import { runSessions } from './session.ts';
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
  /** What an earlier process of this agent left on disk. */
  readonly found: Found | null;
  /** Runs of earlier processes whose end is reported, but whose log or points are not fully sent. */
  readonly acknowledgedRuns?: readonly FoundRun[];
  readonly jobs: Pick<SlotDeps, 'prepare' | 'fetchCheckpoint' | 'fetchData' | 'start' | 'onLine'>;
  /** Sends the output of trainers. Without it, the output stays on this machine. */
  readonly logs?: Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor' | 'leave'>;
  /** Requests a checkpoint or samples from the trainer. Without it, the agent ignores such requests. */
  readonly ask?: Ask;
  /** Uploads the files that trainers write. Without it, they stay on this machine. */
  readonly outputs?: Pick<AttemptOutputs, 'follow' | 'finish' | 'rescue' | 'leave'>;
  /** GPU metrics for the next heartbeat. */
  readonly telemetry: () => Telemetry;
  /** Dataset versions on this machine, most recently used first. Without it, the agent reports none. */
  readonly datasets?: () => readonly string[];
  /** Reports the config keys of trainers. Without it, the agent reports none. */
  readonly trainerKeys?: ReportTrainerKeys;
  /** GPU metrics for the curves of the running job. */
  readonly gpuFigures: CurveDeps['gpuFigures'];
  /** Reads the metrics files that trainers write. Without it, the agent reads none. */
  readonly files?: CurveDeps['files'];
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
  /**
   * Leaves immediately, without the disconnect call. The job continues under its guard, and the agent's next process
   * adopts it. Returns false, and does nothing, when there is no job.
   */
  handOver(): boolean;
}

const exitCodes = { left: 0, refused: 2, rejected: 3 } as const;
/** Whether this report ends the attempt, and so frees the worker. */
const isLast = ({ status }: StatusReportBody): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
/** Time in ms for the final report after `leaveNow`, in addition to the grace period. */
const lastWordMs = 5_000;
/** Time in ms to send the rest of the logs, while the orchestrator answers. The next start sends what remains. */
const logsMs = 5_000;
/** Time in ms to upload the remaining files of completed jobs. A persistent worker continues after its next start. */
const outputsMs = { ephemeral: 600_000, persistent: 5_000 } as const;
/** Time in ms for the last points and for outstanding responses, before the disconnect call. */
const farewellMs = 2_000;

/** Sends the remaining logs and files of runs that have ended. */
async function sendTheRest({ logs, outputs, persistent }: AgentDeps, hurry: AbortSignal): Promise<void> {
  await logs?.leave(logsMs);
  await outputs?.leave(persistent ? outputsMs.persistent : outputsMs.ephemeral, hurry);
}

/**
 * Runs the loops of a worker. One registers and follows the stream, repeatedly. The heartbeat loop runs beside it and
 * stops last. The slot holds the one job.
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
  let isHandedOver = false;
  const inFlight = trackInFlight(deps.api, clock);
  const api = noteContacts(inFlight.api, deps.uptime, sentAt => slot.contact(sentAt));
  const troubles = createConnectionWarnings(clock, deps.url, log);
  const report = createReporter({ clock, api, random, onTrouble: troubles.warn });
  const curves = createCurves({ ...deps, api, ended: ended.signal });
  const slot: JobSlot = createJobSlot({
    ...deps.jobs,
    ...(deps.logs && { logs: deps.logs }),
    ...(deps.outputs && { outputs: deps.outputs }),
    curve: curves.open,
    async report(job, attempt, body, signal) {
      if (isLast(body)) await reportChanges(beatDeps);
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
      return !state.leaving;
    },
  });

  const beatDeps: BeatDeps = { ...deps, api, state, slot, troubles, over: over.signal };

  const leave = (): void => {
    state.leaving = true;
    // A second request to leave skips the remaining uploads.
    if (over.signal.aborted) hurry.abort();
    if (slot.held() === null) over.abort();
  };

  return {
    leave,
    leaveNow() {
      slot.leaveNow();
      leave();
      void pause(clock, state.graceMs + lastWordMs, ended.signal).then(isLate => {
        hurry.abort();
        // If the trainer still runs, its guard completes the stop.
        if (isLate) over.abort();
      });
    },
    handOver() {
      if (slot.held() === null) return false;
      isHandedOver = true;
      over.abort();
      return true;
    },
    async run() {
      for (const run of deps.acknowledgedRuns ?? [])
        catchUpCurve(run, { curve: curves.open, ...(deps.logs && { logs: deps.logs }) });
      if (deps.found !== null) slot.resume(deps.found);
      const beats = new AbortController();
      const beaten = beatUntil(beats.signal, beatDeps);
      const ending = await runSessions({ ...deps, api, state, slot, troubles, leave, over: over.signal });
      const left = slot.held();
      if (ending !== 'left' && left !== null)
        log(
          `Job ${left.jobId} continues without this worker. Correct the problem and start the worker again, to continue with the job`,
        );
      // A trainer that still runs continues under its guard.
      slot.release();
      if (ending === 'left' && !isHandedOver) await sendTheRest(deps, hurry.signal);
      beats.abort();
      if (ending === 'left' && left === null) await curves.drained(farewellMs);
      ended.abort();
      if (ending === 'left' && !isHandedOver) {
        await beaten;
        // The disconnect must be the last call, because a later one would count as the worker's return.
        await inFlight.drained(farewellMs);
        if (state.workerId !== null) await api.disconnect(state.workerId);
      }
      return exitCodes[ending];
    },
  };
}
