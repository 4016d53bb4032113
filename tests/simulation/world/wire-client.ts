import type { ApiClient } from '../../../agent/connection/api-client.ts';
import type { FollowStream, StreamEnd } from '../../../agent/connection/command-stream.ts';
import type { Call } from '../../../protocol/call.ts';
import type { CallFailure, CallResult } from '../../../protocol/client.ts';
import { metricsApi } from '../../../protocol/metrics-api.ts';
import { Problem } from '../../../protocol/problem.ts';
import { WorkerCommand, workerApi } from '../../../protocol/worker-api.ts';
import type { Link } from './link.ts';
import type { SimProcess } from './process.ts';
import type { WireAnswer, WireRequest } from './wire.ts';

interface ClientDeps {
  readonly link: Link;
  readonly process: SimProcess;
  readonly token: () => string;
  readonly address: string;
}

/** Timeouts in ms, as in agent/connection/api-client.ts. */
const callTimeoutMs = 10_000;
const goodbyeMs = 2_000;

/** Implements agent/connection/api-client.ts on a simulated network. */
export function createWireApi({ link, process, token, address }: ClientDeps): ApiClient {
  const send = async <C extends Call>(
    row: C,
    path: string,
    body: unknown,
    timeoutMs = callTimeoutMs,
  ): Promise<CallResult<C>> => {
    const request: WireRequest = {
      kind: 'worker',
      method: row.method === 'GET' ? 'GET' : 'POST',
      path,
      token: token(),
      address,
      body: JSON.parse(JSON.stringify(body)),
    };
    return resultOf(row, await link.call(process, request, timeoutMs));
  };
  return {
    register: body => send(workerApi.register, workerApi.register.path, body),
    beat: body => send(workerApi.heartbeat, workerApi.heartbeat.path, body),
    report: (jobId, attemptId, report) =>
      send(workerApi.reportStatus, workerApi.reportStatus.path.replace(':id', jobId), {
        ...report,
        attempt_id: attemptId,
      }),
    uploadPoints: (jobId, attemptId, points) =>
      send(metricsApi.bring, metricsApi.bring.path.replace(':id', jobId), { attempt_id: attemptId, points }),
    disconnect: workerId =>
      send(workerApi.disconnect, workerApi.disconnect.path, { worker_id: workerId }, goodbyeMs),
  };
}

/** Converts an answer to a result, as protocol/client.ts does. */
function resultOf<C extends Call>(row: C, answer: WireAnswer): CallResult<C> {
  const fail = (failure: CallFailure) => ({ ok: false, failure }) as CallResult<C>;
  if (answer.kind === 'failed')
    return fail({ kind: 'unreachable', cause: Object.assign(new Error(answer.code), { code: answer.code }) });
  const value = answer.status === 200 ? row.reply.safeParse(answer.body) : undefined;
  if (value?.success) return { ok: true, value: value.data } as CallResult<C>;
  const problem = Problem.safeParse(answer.body);
  if (problem.success) return fail({ kind: 'problem', status: answer.status, problem: problem.data });
  return fail({ kind: 'unexpected', status: answer.status, detail: 'no problem, and not the reply' });
}

/** Implements agent/connection/command-stream.ts on a simulated network. */
export function createFollowStream({ link, process, address }: Omit<ClientDeps, 'token'>): FollowStream {
  return deps =>
    new Promise<StreamEnd>(resolve => {
      if (deps.signal.aborted) {
        resolve('aborted');
        return;
      }
      const { pathname, search } = new URL(deps.url);
      const finish = (end: StreamEnd): void => {
        cancelWatchdog();
        deps.signal.removeEventListener('abort', abort);
        connection.close();
        resolve(end);
      };
      const abort = (): void => finish('aborted');
      let cancelWatchdog = process.clock.after(deps.silenceMs, () => finish('lost'));
      const feed = (): void => {
        cancelWatchdog();
        cancelWatchdog = process.clock.after(deps.silenceMs, () => finish('lost'));
      };
      deps.signal.addEventListener('abort', abort, { once: true });
      const request: WireRequest = {
        kind: 'worker',
        method: 'GET',
        path: pathname + search,
        token: deps.token(),
        address,
        body: null,
      };
      const connection = link.connect(process, request, {
        onOpen(status) {
          if (status !== 200) {
            finish(status === 401 ? 'rejected' : 'lost');
            return;
          }
          feed();
          deps.onOpen();
        },
        onFrame(frame) {
          feed();
          const command = WorkerCommand.safeParse(frame);
          if (command.success) deps.onCommand(command.data);
        },
        onEnd: () => finish('lost'),
        onError: () => finish('lost'),
      });
    });
}
