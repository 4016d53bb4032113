import type { RegistrationBody, StatusReportBody } from '../protocol/worker-api.ts';
import type { Found, FoundRun } from './adopt.ts';
import type { Ask } from './ask.ts';
import { initialState } from './agent-state.ts';
import type { ApiClient } from './api-client.ts';
import type { AttemptLogs } from './attempt-logs.ts';
import type { AttemptOutputs } from './attempt-outputs.ts';
import { pause } from './backoff.ts';
import { beatUntil, type Beating, sayNews } from './beat.ts';
import type { Clock } from './clock.ts';
import type { FollowStream } from './command-stream.ts';
import { noteContacts } from './contact.ts';
import { createCurves, type CurveParts } from './curves.ts';
import { catchUpCurve } from './held-attempt.ts';
import { createJobSlot, type JobSlot, type SlotParts } from './job-slot.ts';
import { createMention } from './mention.ts';
import { createReporter } from './reporter.ts';
import { runSessions } from './session.ts';
import type { Registrations } from './registrations.ts';
import type { StateFolder } from './state-folder.ts';
import type { Telemetry } from './telemetry.ts';
import type { TokenHolder } from './token-holder.ts';
import type { ReportTrainerKeys } from './trainer-keys.ts';
import { createTroubleTeller } from './trouble-teller.ts';
import { noteUnderWay } from './under-way.ts';

export interface AgentParts {
  readonly clock: Clock;
  /** ms on a clock that the guards of this machine share; see `machineUptime`. */
  readonly uptime: () => number;
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  readonly url: string;
  readonly token: TokenHolder;
  readonly persistent: boolean;
  /** What does not change while the agent runs. */
  readonly introduction: RegistrationBody;
  readonly state: Pick<StateFolder, 'keepReport' | 'dropReport'>;
  readonly registrations: Registrations;
  /** What an earlier process of this agent has left. */
  readonly found: Found | null;
  /** Runs of earlier processes that are reported and of which something is still to be sent. */
  readonly settled?: readonly FoundRun[];
  readonly jobs: Pick<SlotParts, 'prepare' | 'fetchCheckpoint' | 'fetchData' | 'start' | 'onLine'>;
  /** Where the output of trainers goes; nowhere unless told. */
  readonly logs?: Pick<AttemptLogs, 'follow' | 'finish' | 'keepFor' | 'leave'>;
  /** Nothing is asked of trainers unless given. */
  readonly ask?: Ask;
  /** Where what they make goes; nowhere unless told. */
  readonly outputs?: Pick<AttemptOutputs, 'follow' | 'finish' | 'rescue' | 'leave'>;
  /** Figures of the GPUs, for the next heartbeat. */
  readonly telemetry: () => Telemetry;
  /** Versions of datasets that are here, most recently used first; nothing is said of them unless given. */
  readonly datasets?: () => readonly string[];
  /** Nothing is reported of the keys of trainers unless given. */
  readonly trainerKeys?: ReportTrainerKeys;
  /** The same for the curves of what runs. */
  readonly gpuFigures: CurveParts['gpuFigures'];
  /** Reads what trainers write below their output folders; nothing is read there unless given. */
  readonly files?: CurveParts['files'];
  readonly random: () => number;
  readonly say: (message: string) => void;
}

export interface Agent {
  /** Runs until the agent has left; answers with its exit code. */
  run(): Promise<number>;
  /** Finishes the job, then leaves. */
  leave(): void;
  /** Stops the job, says so, and leaves. */
  leaveNow(): void;
  /**
   * Leaves at once and without a goodbye: the job goes on under its guard, for the agent's next process to adopt. False,
   * and nothing happens, when there is no job.
   */
  handOver(): boolean;
}

const exitCodes = { left: 0, refused: 2, rejected: 3 } as const;
/** Whether the worker is free by it. */
const isLast = ({ status }: StatusReportBody): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled';
/** For the last report, when the agent is told to stop at once. */
const lastWordMs = 5_000;
/** For the rest of a log, as long as it is answered; what is left then is for the next start. */
const logsMs = 5_000;
/** For the rest of what a completed training has made: that long the orchestrator takes it. What comes back can go on with it then. */
const outputsMs = { ephemeral: 600_000, persistent: 5_000 } as const;
/** For answers that interest nobody any more, before the goodbye. */
const farewellMs = 2_000;

/** Of what trainings that have ended have printed and made. */
async function sendTheRest({ logs, outputs, persistent }: AgentParts, hurry: AbortSignal): Promise<void> {
  await logs?.leave(logsMs);
  await outputs?.leave(persistent ? outputsMs.persistent : outputsMs.ephemeral, hurry);
}

/**
 * The loops of a worker, joined: register, follow the stream, again; beside it the heartbeat, which stops last; and the
 * slot for the one job.
 */
export function createAgent(parts: AgentParts): Agent {
  const { clock, random, say } = parts;
  const state = initialState();
  /** Fires when there is nothing left to stay for. */
  const over = new AbortController();
  /** Fires when nobody is to be waited for any more. */
  const hurry = new AbortController();
  /** Fires when the agent has ended: what still waits for its time does so no longer. */
  const ended = new AbortController();
  let isHandedOver = false;
  const underWay = noteUnderWay(parts.api, clock);
  const api = noteContacts(underWay.api, parts.uptime, sentAt => slot.contact(sentAt));
  const troubles = createTroubleTeller(clock, parts.url, say);
  const report = createReporter({ clock, api, random, onTrouble: troubles.tell });
  const curves = createCurves({ ...parts, api, ended: ended.signal });
  const slot: JobSlot = createJobSlot({
    ...parts.jobs,
    ...(parts.logs && { logs: parts.logs }),
    ...(parts.outputs && { outputs: parts.outputs }),
    curve: curves.open,
    async report(job, attempt, body, signal) {
      if (isLast(body)) await sayNews(beating);
      return report(job, attempt, body, AbortSignal.any([signal, hurry.signal, ended.signal]));
    },
    mention: createMention({ clock, api, ended: ended.signal, slot: () => slot }),
    keep: parts.state.keepReport,
    drop: parts.state.dropReport,
    limits: () => ({ timeoutMs: state.timeoutMs, graceMs: state.graceMs }),
    say,
    onFree: worked => {
      if (worked && !parts.persistent) state.leaving = true;
      if (state.leaving) over.abort();
      return !state.leaving;
    },
  });

  const beating: Beating = { ...parts, api, state, slot, troubles, over: over.signal };

  const leave = (): void => {
    state.leaving = true;
    // Whoever says it twice does not want to wait for what is still to be brought.
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
        // What does not end by then has its guard, which goes on with the stop.
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
      for (const run of parts.settled ?? [])
        catchUpCurve(run, { curve: curves.open, ...(parts.logs && { logs: parts.logs }) });
      if (parts.found !== null) slot.resume(parts.found);
      const beats = new AbortController();
      const beaten = beatUntil(beats.signal, beating);
      const ending = await runSessions({ ...parts, api, state, slot, troubles, leave, over: over.signal });
      const left = slot.held();
      if (ending !== 'left' && left !== null)
        say(
          `Job ${left.jobId} goes on without this worker. Put that right and start it again, and it takes the job up`,
        );
      // Whatever still runs goes on under its guard.
      slot.release();
      if (ending === 'left' && !isHandedOver) await sendTheRest(parts, hurry.signal);
      beats.abort();
      if (ending === 'left' && left === null) await curves.settled(farewellMs);
      ended.abort();
      if (ending === 'left' && !isHandedOver) {
        await beaten;
        // The goodbye is the last word.
        await underWay.settled(farewellMs);
        if (state.workerId !== null) await api.disconnect(state.workerId);
      }
      return exitCodes[ending];
    },
  };
}
