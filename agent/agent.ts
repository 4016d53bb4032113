import { urlOf } from '../protocol/client.ts';
import {
  type HeartbeatBody,
  type HeartbeatReply,
  protocolVersion,
  type RegisterReply,
  type RegistrationBody,
  type WorkerCommand,
  workerApi,
} from '../protocol/worker-api.ts';
import { type AgentState, initialState } from './agent-state.ts';
import type { ApiClient } from './api-client.ts';
import { createBackoff, pause } from './backoff.ts';
import type { Clock } from './clock.ts';
import type { FollowStream } from './command-stream.ts';
import { runHeartbeat } from './heartbeat.ts';
import { createJobSlot, type Held, type JobSlot, type SlotParts } from './job-slot.ts';
import { createMention } from './mention.ts';
import { createRegister } from './register.ts';
import { createReporter } from './reporter.ts';
import type { StateFolder } from './state-folder.ts';
import type { TokenHolder } from './token-holder.ts';
import { createTroubleTeller, type TroubleTeller } from './trouble-teller.ts';

export interface AgentParts {
  readonly clock: Clock;
  readonly api: ApiClient;
  readonly followStream: FollowStream;
  readonly url: string;
  readonly token: TokenHolder;
  readonly persistent: boolean;
  /** What does not change while the agent runs. */
  readonly introduction: RegistrationBody;
  readonly state: StateFolder;
  readonly jobs: Pick<SlotParts, 'prepare' | 'start' | 'onLine'>;
  /** Figures of the GPUs, for the next heartbeat. */
  readonly telemetry: () => Pick<HeartbeatBody, 'gpu_utilization' | 'vram_used_gb'>;
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
}

const exitCodes = { left: 0, rejected: 3 } as const;
/** For the last report, when the agent is told to stop at once. */
const lastWordMs = 5_000;

/**
 * The loops of a worker, joined: register, follow the stream, again; beside it the heartbeat, which stops last; and the
 * slot for the one job.
 */
export function createAgent(parts: AgentParts): Agent {
  const { clock, api, url, token, random, say } = parts;
  const state = initialState();
  const over = new AbortController();
  const hurry = new AbortController();
  /** Fires when the agent has ended: what still waits for its time does so no longer. */
  const ended = new AbortController();
  const troubles = createTroubleTeller(clock, url, say);
  const report = createReporter({ clock, api, random, onTrouble: troubles.tell });
  const slot = createJobSlot({
    ...parts.jobs,
    report: (job, attempt, body, signal) =>
      report(job, attempt, body, AbortSignal.any([signal, hurry.signal])),
    mention: createMention({ clock, api, ended: ended.signal, slot: () => slot }),
    keep: parts.state.keepReport,
    drop: parts.state.dropReport,
    graceMs: () => state.graceMs,
    say,
    onFree: worked => {
      if (worked && !parts.persistent) state.leaving = true;
      if (state.leaving) over.abort();
      return !state.leaving;
    },
  });
  const register = createRegister({ clock, api, url, token, random, say, onTrouble: troubles.tell });
  const introduce = (): RegistrationBody => ({ ...parts.introduction, ...introductionOf(slot, parts.state) });
  const backoff = createBackoff({ firstMs: 1_000, mostMs: 30_000, random });

  const session = async (): Promise<number | null> => {
    const said = slot.held();
    const registered = await register(introduce, over.signal);
    if (registered.kind === 'aborted') return exitCodes.left;
    if (registered.kind === 'rejected') {
      say(registered.message);
      return exitCodes.rejected;
    }
    troubles.clear();
    settle(state, registered.reply);
    obey(slot, registered.reply, said);
    await parts.followStream({
      url: urlOf(url, workerApi.stream.path, {}, { worker_id: registered.reply.worker_id }).href,
      token: token.current,
      silenceMs: state.silenceMs,
      signal: over.signal,
      onOpen: () => {
        backoff.reset();
        say(`Connected to ${url} as ${registered.reply.name} (${registered.reply.worker_id})`);
      },
      onCommand: command => carryOut(command, slot, leave),
    });
    return over.signal.aborted ? exitCodes.left : null;
  };

  const leave = (): void => {
    state.leaving = true;
    if (slot.held() === null) over.abort();
  };

  return {
    leave,
    leaveNow() {
      slot.leaveNow();
      leave();
      void pause(clock, state.graceMs + lastWordMs, ended.signal).then(() => hurry.abort());
    },
    async run() {
      const kept = parts.state.keptReport();
      if (kept !== null) slot.deliver(kept);
      const beats = new AbortController();
      const beating = beatUntil(beats.signal, { parts, state, slot, troubles });
      let code: number | null = null;
      while (code === null) {
        code = await session();
        if (code === null && !(await pause(clock, backoff.nextMs(), over.signal))) code = exitCodes.left;
      }
      if (code === exitCodes.rejected) await stopJob(slot, hurry);
      beats.abort();
      await beating;
      if (code === exitCodes.left && state.workerId !== null) await api.disconnect(state.workerId);
      ended.abort();
      return code;
    },
  };
}

/** Nobody will take this worker's reports any more. */
async function stopJob(slot: JobSlot, hurry: AbortController): Promise<void> {
  slot.leaveNow();
  hurry.abort();
  await slot.freed();
}

const introductionOf = (slot: JobSlot, folder: StateFolder): RegistrationBody => {
  const held = slot.held();
  return {
    protocol: protocolVersion,
    instance_id: folder.instanceId,
    current_job_id: held?.jobId ?? null,
    current_attempt_id: held?.attemptId ?? null,
  };
};

function settle(state: AgentState, reply: RegisterReply): void {
  state.workerId = reply.worker_id;
  state.heartbeatMs = reply.heartbeat_interval_s * 1000;
  state.timeoutMs = reply.heartbeat_timeout_s * 1000;
  state.graceMs = reply.stop_grace_s * 1000;
  state.silenceMs = reply.stream_silence_s * 1000;
}

/** `said` is what the worker held when it asked: by now the same job may be here again, as a newer attempt. */
function obey(slot: JobSlot, reply: Pick<HeartbeatReply, 'cancel' | 'abandon_job'>, said: Held | null): void {
  if (reply.cancel !== null) slot.cancel(reply.cancel.attempt_id);
  if (reply.abandon_job !== null && slot.held() === said) slot.abandon(reply.abandon_job);
}

function carryOut(command: WorkerCommand, slot: JobSlot, leave: () => void): void {
  switch (command.type) {
    case 'job_submit':
      return slot.offer(command);
    case 'job_cancel':
      return slot.cancel(command.attempt_id);
    case 'shutdown':
      return leave();
    case 'stopping':
    case 'ping':
  }
}

interface Beating {
  readonly parts: AgentParts;
  readonly state: AgentState;
  readonly slot: JobSlot;
  readonly troubles: TroubleTeller;
}

const beatUntil = (signal: AbortSignal, beating: Beating): Promise<void> =>
  runHeartbeat({
    clock: beating.parts.clock,
    beat: () => beat(beating),
    intervalMs: () => beating.state.heartbeatMs,
    random: beating.parts.random,
    signal,
  });

async function beat({ parts, state, slot, troubles }: Beating): Promise<boolean> {
  if (state.workerId === null) return false;
  const held = slot.held();
  const progress = slot.progress();
  const result = await parts.api.beat({
    ...parts.telemetry(),
    worker_id: state.workerId,
    status: held === null ? 'idle' : 'busy',
    current_job_id: held?.jobId ?? null,
    attempt_id: held?.attemptId ?? null,
    ...(progress && { job_progress: progress }),
  });
  if (!result.ok) {
    troubles.missedBeat(result.failure, state.timeoutMs);
    return false;
  }
  troubles.beaten();
  state.heartbeatMs = result.value.heartbeat_interval_s * 1000;
  obey(slot, result.value, held);
  return true;
}
