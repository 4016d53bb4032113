import type { HeartbeatReply } from '../../protocol/worker-api.ts';
import type { UpdateOrder } from '../../protocol/worker-update.ts';
import type { AgentState } from './agent-state.ts';
import type { Closing } from './closing.ts';
import type { ApiClient } from '../connection/api-client.ts';
import type { Clock } from '../clock.ts';
import type { Held } from '../job.ts';
import type { JobSlot } from './job-slot.ts';
import type { Telemetry } from './telemetry.ts';
import type { TokenHolder } from './worker-token.ts';
import type { ConnectionWarnings } from '../connection/connection-warnings.ts';
import { type Backoff, createBackoff, pause } from '../retry/retry.ts';
import { loopWaits } from '../retry/decisions.ts';

interface HeartbeatDeps {
  readonly clock: Clock;
  /** Sends one heartbeat. Resolves with false if it was not acknowledged. */
  readonly beat: () => Promise<boolean>;
  /** Called each time, because the orchestrator may change the interval. */
  readonly intervalMs: () => number;
  readonly random: () => number;
  readonly signal: AbortSignal;
}

/**
 * Sends heartbeats until the signal fires. The loop never waits for a job, so that no trainer can delay a heartbeat.
 * Retries a failed heartbeat after 1, 2, 4, 8 s.
 * @internal
 */
export async function runHeartbeat({
  clock,
  beat,
  intervalMs,
  random,
  signal,
}: HeartbeatDeps): Promise<void> {
  const backoff: Backoff = createBackoff(loopWaits.heartbeat);
  let waitMs = 0;
  while (await pause(clock, waitMs, signal)) {
    const acknowledged = await beat();
    if (acknowledged) backoff.reset();
    const regularMs = intervalMs() * (0.9 + 0.2 * random());
    waitMs = acknowledged ? regularMs : Math.min(regularMs, backoff.nextMs());
  }
}

export interface BeatDeps {
  readonly clock: Clock;
  readonly api: Pick<ApiClient, 'beat'>;
  readonly random: () => number;
  readonly telemetry: () => Telemetry;
  readonly datasets?: () => readonly string[];
  readonly closing: Pick<Closing, 'reported' | 'notice'>;
  readonly state: AgentState;
  readonly slot: JobSlot;
  readonly troubles: ConnectionWarnings;
  readonly token: Pick<TokenHolder, 'reload' | 'file'>;
  /** Fires when the worker stops registering, and only sends the remaining reports and files. */
  readonly over: AbortSignal;
  /** Starts an update of this program. When absent, the worker ignores such orders. */
  readonly update?: (order: UpdateOrder) => void;
  readonly log: (message: string) => void;
}

/** Sends heartbeats until the signal fires, and carries out the orders in the replies. */
export const beatUntil = (signal: AbortSignal, deps: BeatDeps): Promise<void> =>
  runHeartbeat({
    clock: deps.clock,
    beat: () => sendBeat(deps),
    intervalMs: () => deps.state.heartbeatMs,
    random: deps.random,
    signal,
  });

/**
 * Sends a heartbeat if GPU troubles or datasets have changed. Call it before the report that frees this worker. The
 * next dispatch then avoids a bad GPU and finds its data here.
 */
export async function reportChanges(deps: BeatDeps): Promise<void> {
  const { gpu_troubles: now } = deps.telemetry();
  const hasTrouble = now !== undefined && troublesText(now) !== (deps.state.sentTroubles ?? '[]');
  if (hasTrouble || newDatasets(deps) !== null) await sendBeat(deps);
}

/** The maximum number of datasets in a registration or a heartbeat. */
const maxDatasets = 100;

/** Returns the most recently used datasets, at most as many as a registration or a heartbeat can list. */
export const namedDatasets = (datasets: readonly string[]): string[] => datasets.slice(0, maxDatasets);

/** Returns the datasets to send; null when the orchestrator already knows them. */
function newDatasets({ datasets, state }: BeatDeps): string[] | null {
  if (datasets === undefined) return null;
  const versions = namedDatasets(datasets());
  return JSON.stringify(versions) === state.sentDatasets ? null : versions;
}

const troublesText = (troubles: Telemetry['gpu_troubles']): string | null =>
  troubles === undefined ? null : JSON.stringify(troubles);

/** Sends one heartbeat, and carries out the orders in the reply. Resolves with false if it was not acknowledged. */
export async function sendBeat(deps: BeatDeps): Promise<boolean> {
  const { api, telemetry, state, slot, troubles } = deps;
  if (state.workerId === null) return false;
  const figures = telemetry();
  const held = slot.held();
  const progress = slot.progress();
  const datasets = newDatasets(deps);
  const result = await api.beat({
    ...figures,
    worker_id: state.workerId,
    status: held === null ? 'idle' : 'busy',
    current_job_id: held?.jobId ?? null,
    attempt_id: held?.attemptId ?? null,
    ...(progress && { job_progress: progress }),
    ...(datasets && { datasets }),
    ...deps.closing.reported(),
  });
  if (!result.ok) {
    troubles.missedBeat(result.failure, state.timeoutMs);
    if (result.failure.kind !== 'unreachable' && result.failure.status === 401) takeNewToken(deps);
    return false;
  }
  troubles.noteHeartbeat();
  state.sentTroubles = troublesText(figures.gpu_troubles);
  if (datasets !== null) state.sentDatasets = JSON.stringify(datasets);
  state.heartbeatMs = result.value.heartbeat_interval_s * 1000;
  obey(slot, result.value, held);
  const { rendezvous } = result.value;
  if (rendezvous) slot.rendezvous(rendezvous.attempt_id, rendezvous);
  if (result.value.update) deps.update?.(result.value.update);
  if (result.value.notice) deps.closing.notice(result.value.notice);
  return true;
}

/**
 * Reads the token file again if the worker no longer registers, because the remaining uploads need a valid token. Before
 * that, each registration reads the file.
 */
function takeNewToken({ token, over, log }: BeatDeps): void {
  if (over.aborted && token.reload()) log(`Took the new token from ${token.file}`);
}

/**
 * Carries out the orders in a reply. `sentFor`: the worker's attempt at the time of the request. The slot may now have
 * a newer attempt of the same job, which must not be abandoned.
 */
export function obey(
  slot: JobSlot,
  reply: Pick<HeartbeatReply, 'cancel' | 'abandon_job'>,
  sentFor: Held | null,
): void {
  if (reply.cancel !== null) slot.cancel({ jobId: reply.cancel.job_id, attemptId: reply.cancel.attempt_id });
  if (reply.abandon_job !== null && slot.held() === sentFor) slot.abandon(reply.abandon_job);
}
