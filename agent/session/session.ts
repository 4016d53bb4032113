import { urlOf } from '../../protocol/client.ts';
import {
  protocolVersion,
  type RegisterReply,
  type RegistrationBody,
  type WorkerCommand,
  workerApi,
} from '../../protocol/worker-api.ts';
import type { UpdateOrder } from '../../protocol/worker-update.ts';
import type { Ask } from '../attempt/trainer-actions.ts';
import type { AgentState } from './agent-state.ts';
import type { Closing } from './closing.ts';
import type { ApiClient } from '../connection/api-client.ts';
import { createBackoff, pause } from '../retry/retry.ts';
import { namedDatasets, obey } from './heartbeat.ts';
import type { Clock } from '../clock.ts';
import type { FollowStream } from '../connection/command-stream.ts';
import type { JobSlot } from './job-slot.ts';
import { loopWaits } from '../retry/decisions.ts';
import { createRegister } from './register.ts';
import type { Registrations } from '../state/state-folder.ts';
import type { Telemetry } from './telemetry.ts';
import type { TokenHolder } from './worker-token.ts';
import type { ReportTrainerKeys } from '../trainers/known-keys.ts';
import type { ConnectionWarnings } from '../connection/connection-warnings.ts';

export interface SessionDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'register'>;
  readonly followStream: FollowStream;
  readonly url: string;
  readonly token: TokenHolder;
  readonly registrations: Registrations;
  readonly introduction: RegistrationBody;
  readonly telemetry: () => Telemetry;
  readonly datasets?: () => readonly string[];
  /** Reports the config keys of trainers. When absent, the worker reports none. */
  readonly trainerKeys?: ReportTrainerKeys;
  readonly random: () => number;
  readonly log: (message: string) => void;
  readonly state: AgentState;
  readonly slot: JobSlot;
  readonly closing: Pick<Closing, 'reported' | 'notice' | 'allocate'>;
  readonly troubles: ConnectionWarnings;
  /** Passes a request to the trainer. When absent, the worker ignores such requests. */
  readonly ask?: Ask;
  /** Starts an update of this program. When absent, the worker ignores such orders. */
  readonly update?: (order: UpdateOrder) => void;
  /** Called when the agent is registered and its stream is open. */
  readonly onConnected?: () => void;
  /** Finishes the job, then leaves. */
  readonly leave: () => void;
  /** Fires when the agent stops registering and following the stream. */
  readonly over: AbortSignal;
}

/** Why the sessions ended: the agent left, or the orchestrator refused its registration or rejected its token. */
export type SessionsEnd = 'left' | 'refused' | 'rejected';

/** Registers and follows the command stream, repeatedly, until the agent leaves or cannot register. */
export async function runSessions(deps: SessionDeps): Promise<SessionsEnd> {
  const { clock, random, state, troubles } = deps;
  const backoff = createBackoff({ ...loopWaits.session, random });
  const register = createRegister({
    ...deps,
    onTrouble: troubles.warn,
    onDuplicate: () => {
      // The orchestrator would attribute calls with this id to the other machine.
      state.workerId = null;
    },
  });
  do {
    const sentFor = deps.slot.held();
    const registered = await register(() => introduce(deps), deps.over);
    if (registered.kind === 'aborted') return 'left';
    if (registered.kind !== 'registered') {
      deps.log(registered.message);
      return registered.kind;
    }
    troubles.clear();
    applyIntervals(state, registered.reply);
    obey(deps.slot, registered.reply, sentFor);
    deps.closing.allocate(registered.reply.allocation ?? null);
    if (registered.reply.update) deps.update?.(registered.reply.update);
    void deps.trainerKeys?.(registered.reply.trainer_keys_wanted ?? []);
    await follow(registered.reply, deps, backoff.reset);
  } while (!deps.over.aborted && (await pause(clock, backoff.nextMs(), deps.over)));
  return 'left';
}

function introduce({ introduction, slot, telemetry, datasets, closing }: SessionDeps): RegistrationBody {
  const held = slot.held();
  const { gpu_troubles: troubles } = telemetry();
  return {
    ...introduction,
    protocol: protocolVersion,
    ...(troubles && { gpu_troubles: troubles }),
    ...(datasets && { datasets: namedDatasets(datasets()) }),
    ...closing.reported(),
    current_job_id: held?.jobId ?? null,
    current_attempt_id: held?.attemptId ?? null,
  };
}

function applyIntervals(state: AgentState, reply: RegisterReply): void {
  state.workerId = reply.worker_id;
  state.heartbeatMs = reply.heartbeat_interval_s * 1000;
  state.timeoutMs = reply.heartbeat_timeout_s * 1000;
  state.graceMs = reply.stop_grace_s * 1000;
  state.silenceMs = reply.stream_silence_s * 1000;
}

async function follow(reply: RegisterReply, deps: SessionDeps, onOpen: () => void): Promise<void> {
  const { url, troubles } = deps;
  await deps.followStream({
    url: urlOf(url, workerApi.stream.path, {}, { worker_id: reply.worker_id }).href,
    token: deps.token.current,
    silenceMs: deps.state.silenceMs,
    signal: deps.over,
    onOpen: () => {
      onOpen();
      troubles.connected();
      deps.onConnected?.();
      deps.log(`Connected to ${url} as ${reply.name} (${reply.worker_id})`);
    },
    onRefused: troubles.streamRefused,
    onCommand: command => carryOut(command, deps),
  });
}

function carryOut(command: WorkerCommand, deps: SessionDeps): void {
  const { slot, troubles, state, leave, ask, closing } = deps;
  switch (command.type) {
    case 'job_submit':
      return slot.offer(command);
    case 'job_cancel':
      return slot.cancel({ jobId: command.job_id, attemptId: command.attempt_id });
    case 'job_rendezvous':
      return slot.rendezvous(command.attempt_id, command);
    case 'job_ask':
      // Ignore a request for an attempt that has ended, or that is not this worker's.
      if (slot.alive(command.attempt_id))
        void ask?.({ jobId: command.job_id, attemptId: command.attempt_id }, command.what);
      return;
    case 'notice':
      return closing.notice(command);
    case 'update':
      return deps.update?.(command);
    case 'shutdown':
      return leave();
    case 'stopping':
      return troubles.expectAbsence(command.reason, state.timeoutMs);
    case 'ping':
  }
}
