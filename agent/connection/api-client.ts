import { type CallResult, createClient, type Fetch } from '../../protocol/client.ts';
import type { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';
import { type LogChunkBody, workerLogsApi } from '../../protocol/logs-api.ts';
import { type MetricPoint, metricsApi } from '../../protocol/metrics-api.ts';
import {
  type HeartbeatBody,
  type JoinBody,
  type RegistrationBody,
  type StatusReportBody,
  workerApi,
} from '../../protocol/worker-api.ts';

export interface ApiClientDeps {
  readonly url: string;
  readonly token: () => string;
  readonly fetch: Fetch;
  /** Fires when no caller needs a response any more. */
  readonly signal: AbortSignal;
}

/** The calls of a worker. Each one uses the worker token that is current at that moment. */
export interface ApiClient {
  register(introduction: RegistrationBody): Promise<CallResult<typeof workerApi.register>>;
  beat(beat: HeartbeatBody): Promise<CallResult<typeof workerApi.heartbeat>>;
  report(
    jobId: JobId,
    attemptId: AttemptId,
    report: StatusReportBody,
  ): Promise<CallResult<typeof workerApi.reportStatus>>;
  bring(
    jobId: JobId,
    attemptId: AttemptId,
    points: readonly MetricPoint[],
  ): Promise<CallResult<typeof metricsApi.bring>>;
  disconnect(workerId: WorkerId): Promise<CallResult<typeof workerApi.disconnect>>;
}

const patienceMs = 10_000;
const goodbyeMs = 2_000;

export function createApiClient({ url, token, fetch, signal }: ApiClientDeps): ApiClient {
  const options = { baseUrl: url, fetch, headers: () => ({ 'x-worker-token': token() }) };
  const client = createClient({ ...options, timeoutMs: patienceMs });
  const hurried = createClient({ ...options, timeoutMs: goodbyeMs });
  return {
    register: body => client.call(workerApi.register, { body, signal }),
    beat: body => client.call(workerApi.heartbeat, { body, signal }),
    report: (jobId, attemptId, report) =>
      client.call(workerApi.reportStatus, {
        params: { id: jobId },
        body: { ...report, attempt_id: attemptId },
        signal,
      }),
    bring: (jobId, attemptId, points) =>
      client.call(metricsApi.bring, {
        params: { id: jobId },
        body: { attempt_id: attemptId, points: [...points] },
        signal,
      }),
    disconnect: workerId => hurried.call(workerApi.disconnect, { body: { worker_id: workerId }, signal }),
  };
}

/** Joins with a join token: the only call that a worker makes before it has its own token. */
export type JoinCall = (joinToken: string, body: JoinBody) => Promise<CallResult<typeof workerApi.join>>;

export function createJoinCall({ url, fetch, signal }: Omit<ApiClientDeps, 'token'>): JoinCall {
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs: patienceMs, fetch });
  return (joinToken, body) =>
    client.call(workerApi.join, { body, signal, headers: { 'x-worker-token': joinToken } });
}

/** Sends a chunk of an attempt's log. */
export type ShipCall = (
  jobId: JobId,
  chunk: LogChunkBody,
  signal: AbortSignal,
) => Promise<CallResult<typeof workerLogsApi.ship>>;

/** A chunk may be a megabyte, and shares the network connection with the uploads of a running job. */
const shipPatienceMs = 30_000;

export function createShipCall({ url, token, fetch }: Omit<ApiClientDeps, 'signal'>): ShipCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: shipPatienceMs });
  return (id, body, signal) => client.call(workerLogsApi.ship, { params: { id }, body, signal });
}

/**
 * Exchanges an upload token that became invalid when the worker token was rotated. Resolves with null when the call
 * fails.
 */
export type RenewCall = (uploadToken: string, signal: AbortSignal) => Promise<string | null>;

export function createRenewCall({ url, token, fetch }: Omit<ApiClientDeps, 'signal'>): RenewCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: patienceMs });
  return async (uploadToken, signal) => {
    const answer = await client.call(workerApi.renewUploadToken, {
      body: { upload_token: uploadToken },
      signal,
    });
    return answer.ok ? answer.value.upload_token : null;
  };
}

/** Reports the config keys that a trainer accepts. */
export type TrainerKeysCall = (
  trainer: string,
  keys: readonly string[],
) => Promise<CallResult<typeof workerApi.reportTrainerKeys>>;

export function createTrainerKeysCall({ url, token, fetch, signal }: ApiClientDeps): TrainerKeysCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: shipPatienceMs });
  return (trainer, keys) =>
    client.call(workerApi.reportTrainerKeys, { body: { trainer, keys: [...keys] }, signal });
}
