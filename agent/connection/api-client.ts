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
import type { UpdateReport } from '../../protocol/worker-update.ts';
import { workerUpdatesApi } from '../../protocol/worker-updates-api.ts';
import { pause } from '../retry/retry.ts';
import type { Clock } from '../clock.ts';

export interface ApiClientDeps {
  readonly url: string;
  readonly token: () => string;
  readonly fetch: Fetch;
  /** Fires when no caller needs a response any more. */
  readonly signal: AbortSignal;
}

/** The calls that a worker makes. Each call uses the current worker token. */
export interface ApiClient {
  register(introduction: RegistrationBody): Promise<CallResult<typeof workerApi.register>>;
  beat(beat: HeartbeatBody): Promise<CallResult<typeof workerApi.heartbeat>>;
  report(
    jobId: JobId,
    attemptId: AttemptId,
    report: StatusReportBody,
  ): Promise<CallResult<typeof workerApi.reportStatus>>;
  uploadPoints(
    jobId: JobId,
    attemptId: AttemptId,
    points: readonly MetricPoint[],
  ): Promise<CallResult<typeof metricsApi.bring>>;
  disconnect(workerId: WorkerId): Promise<CallResult<typeof workerApi.disconnect>>;
}

const callTimeoutMs = 10_000;
const disconnectTimeoutMs = 2_000;

export function createApiClient({ url, token, fetch, signal }: ApiClientDeps): ApiClient {
  const options = { baseUrl: url, fetch, headers: () => ({ 'x-worker-token': token() }) };
  const client = createClient({ ...options, timeoutMs: callTimeoutMs });
  const disconnectClient = createClient({ ...options, timeoutMs: disconnectTimeoutMs });
  return {
    register: body => client.call(workerApi.register, { body, signal }),
    beat: body => client.call(workerApi.heartbeat, { body, signal }),
    report: (jobId, attemptId, report) =>
      client.call(workerApi.reportStatus, {
        params: { id: jobId },
        body: { ...report, attempt_id: attemptId },
        signal,
      }),
    uploadPoints: (jobId, attemptId, points) =>
      client.call(metricsApi.bring, {
        params: { id: jobId },
        body: { attempt_id: attemptId, points: [...points] },
        signal,
      }),
    disconnect: workerId =>
      disconnectClient.call(workerApi.disconnect, { body: { worker_id: workerId }, signal }),
  };
}

/** Joins with a join token: the only call that a worker makes before it has its own token. */
export type JoinCall = (joinToken: string, body: JoinBody) => Promise<CallResult<typeof workerApi.join>>;

export function createJoinCall({ url, fetch, signal }: Omit<ApiClientDeps, 'token'>): JoinCall {
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs: callTimeoutMs, fetch });
  return (joinToken, body) =>
    client.call(workerApi.join, { body, signal, headers: { 'x-worker-token': joinToken } });
}

/** Sends a chunk of an attempt's log. */
export type ShipCall = (
  jobId: JobId,
  chunk: LogChunkBody,
  signal: AbortSignal,
) => Promise<CallResult<typeof workerLogsApi.ship>>;

/** Timeout for sending a chunk. It is long, because a chunk can be a megabyte, and uploads may use the same network. */
const shipTimeoutMs = 30_000;

export function createShipCall({ url, token, fetch }: Omit<ApiClientDeps, 'signal'>): ShipCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: shipTimeoutMs });
  return (id, body, signal) => client.call(workerLogsApi.ship, { params: { id }, body, signal });
}

/**
 * Exchanges an upload token that became invalid when the worker token was rotated. Resolves with null when the call
 * fails.
 */
export type RenewCall = (uploadToken: string, signal: AbortSignal) => Promise<string | null>;

export function createRenewCall({ url, token, fetch }: Omit<ApiClientDeps, 'signal'>): RenewCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: callTimeoutMs });
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
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: shipTimeoutMs });
  return (trainer, keys) =>
    client.call(workerApi.reportTrainerKeys, { body: { trainer, keys: [...keys] }, signal });
}

/** Reports the progress of an update of this program. */
export type UpdateCall = (report: UpdateReport) => Promise<CallResult<typeof workerUpdatesApi.report>>;

export function createUpdateCall({ url, token, fetch, signal }: ApiClientDeps): UpdateCall {
  const headers = () => ({ 'x-worker-token': token() });
  const client = createClient({ baseUrl: url, fetch, headers, timeoutMs: callTimeoutMs });
  return body => client.call(workerUpdatesApi.report, { body, signal });
}

/**
 * Wraps the API, and calls `note` after each answered call that counts as contact. `sentAt`: when the call was sent. The
 * orchestrator may have received the call at that time, so the time of the response would be too late.
 */
export function noteContacts(
  api: ApiClient,
  uptime: () => number,
  note: (sentAt: number) => void,
): ApiClient {
  const noted = async <R extends { readonly ok: boolean }>(send: () => Promise<R>): Promise<R> => {
    const sentAt = uptime();
    const result = await send();
    if (result.ok) note(sentAt);
    return result;
  };
  return {
    ...api,
    register: body => noted(() => api.register(body)),
    beat: body => noted(() => api.beat(body)),
    report: (jobId, attemptId, report) => {
      const send = (): ReturnType<ApiClient['report']> => api.report(jobId, attemptId, report);
      // The claim is the only status report that counts as contact.
      return report.status === 'starting' ? noted(send) : send();
    },
  };
}

export interface CallsInFlight {
  /** The API with tracked calls. */
  readonly api: ApiClient;
  /** Resolves when no call waits for its response, or after `withinMs`. */
  drained(withinMs: number): Promise<void>;
}

/**
 * Tracks pending calls, so that `disconnect` can be the last one. A later call would mark the worker as connected
 * again.
 */
export function trackInFlight(api: ApiClient, clock: Clock): CallsInFlight {
  const inFlight = new Set<Promise<unknown>>();
  const noted = <R>(call: Promise<R>): Promise<R> => {
    inFlight.add(call);
    void call.finally(() => inFlight.delete(call)).catch(() => {});
    return call;
  };
  return {
    api: {
      register: body => noted(api.register(body)),
      beat: body => noted(api.beat(body)),
      report: (jobId, attemptId, body) => noted(api.report(jobId, attemptId, body)),
      uploadPoints: (jobId, attemptId, points) => noted(api.uploadPoints(jobId, attemptId, points)),
      disconnect: api.disconnect,
    },
    async drained(withinMs) {
      const done = new AbortController();
      void Promise.allSettled(inFlight).then(() => done.abort());
      await pause(clock, withinMs, done.signal);
    },
  };
}
