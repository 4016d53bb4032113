import http from 'node:http';
import { onTestFinished } from 'vitest';
import { createLogStore, type LogStore } from '../../support/log-book.ts';
import type { StatusReportBody, WorkerCommand } from '../../../protocol/worker-api.ts';

type CallName = 'join' | 'register' | 'stream' | 'heartbeat' | 'status' | 'logs' | 'metrics' | 'disconnect';

export interface Call {
  readonly name: CallName;
  readonly token: string | undefined;
  /** The job id in the path of a report; null for other calls. */
  readonly jobId: string | null;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Answer {
  readonly status: number;
  readonly body: object;
}

/** The functions that answer the calls, by the name of the call. A pending promise delays the answer. */
type Answers = { [Name in CallName]: (call: Call) => Answer | Promise<Answer> };

export interface ScriptedOrchestrator {
  readonly url: string;
  readonly calls: readonly Call[];
  /** Tests replace these functions to change the answers. */
  readonly answers: Answers;
  readonly logs: LogStore;
  /** Resolves with the first call that matches, past or future, once it was answered. */
  until(matches: (call: Call) => boolean): Promise<Call>;
  /** Resolves with the nth call of this name, counted from 1, once it was answered. */
  nth(name: CallName, nth?: number): Promise<Call>;
  /** Like `nth`, but resolves as soon as the call arrives. */
  arrived(name: CallName, nth?: number): Promise<Call>;
  /** Resolves with the first report of this status once it was answered. */
  reported(status: StatusReportBody['status'], attempt?: string): Promise<Call>;
  count(name: CallName): number;
  push(command: WorkerCommand): void;
  endStream(): void;
  breakStream(): void;
  /** While set to true, the orchestrator closes each connection without an answer. */
  setUnreachable(isUnreachable: boolean): void;
}

const ok = (body: object): Answer => ({ status: 200, body });
export const refused = (status: number, action?: 'stop'): Answer => ({
  status,
  body: {
    type: 'about:blank',
    title: 'No',
    status,
    detail: `refused with ${status}`,
    code: 'x',
    ...(action && { action }),
  },
});

export const registerReply = (fields: object = {}): Answer =>
  ok({
    worker_id: 'w_1',
    name: 'rig-3',
    sse_url: '/api/workers/stream',
    resume_job: null,
    abandon_job: null,
    cancel: null,
    protocol: 2,
    heartbeat_interval_s: 30,
    heartbeat_timeout_s: 120,
    stop_grace_s: 20,
    stream_silence_s: 60,
    ...fields,
  });

export const heartbeatReply = (fields: object = {}): Answer =>
  ok({ success: true, cancel: null, abandon_job: null, heartbeat_interval_s: 30, ...fields });

/** Returns the reply that accepts all points of this call. */
function metricsReply({ points }: Call['body']): Answer {
  const last: unknown = Array.isArray(points) ? points.at(-1) : undefined;
  const n = typeof last === 'object' && last !== null && 'n' in last ? Number(last.n) : -1;
  return ok({ success: true, next: n + 1, last_step: null, last_elapsed_ms: 0 });
}

function parseCallName(path: string): CallName {
  const [name] = /join|register|stream|heartbeat|status|logs|metrics|disconnect/.exec(path) ?? [];
  if (name === undefined) throw new Error(`there is no call ${path}`);
  return name as CallName;
}

async function readBody(request: http.IncomingMessage): Promise<Call['body']> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Call['body']);
}

/** Starts an orchestrator that accepts everything until a test replaces an answer. */
export async function startOrchestrator(): Promise<ScriptedOrchestrator> {
  const calls: Call[] = [];
  const answered: Call[] = [];
  const logs = createLogStore();
  const waiters = new Set<() => void>();
  const answers: Answers = {
    join: () => ok({ worker_id: 'w_1', name: 'rig-3', worker_type: 'persistent' }),
    register: () => registerReply(),
    stream: () => ok({}),
    heartbeat: () => heartbeatReply(),
    status: () => ok({ success: true }),
    logs: ({ body }) => ok({ success: true, next: logs.accept(body) }),
    metrics: ({ body }) => metricsReply(body),
    disconnect: () => ok({ success: true }),
  };
  let stream: http.ServerResponse | null = null;
  let isUnreachable = false;

  const notifyWaiters = (): void => {
    for (const check of waiters) check();
  };

  const answer = async (request: http.IncomingMessage, response: http.ServerResponse): Promise<void> => {
    const path = request.url ?? '';
    const body = await readBody(request);
    const token = request.headers['x-worker-token'];
    const [, jobId = null] = /job\/([^/]+)\/(?:status|logs|metrics)/.exec(path) ?? [];
    const call: Call = {
      name: parseCallName(path),
      token: Array.isArray(token) ? token[0] : token,
      jobId,
      body,
    };
    calls.push(call);
    notifyWaiters();
    const reply = await answers[call.name](call);
    if (call.name === 'stream' && reply.status === 200) {
      stream = response;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    } else {
      response.writeHead(reply.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(reply.body));
    }
    answered.push(call);
    notifyWaiters();
  };

  const server = http.createServer((request, response) => {
    if (isUnreachable) request.socket.destroy();
    else void answer(request, response);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  const waitFor = (candidates: readonly Call[], matches: (call: Call) => boolean): Promise<Call> =>
    new Promise(resolve => {
      const check = (): void => {
        const call = candidates.find(matches);
        if (call === undefined) return;
        waiters.delete(check);
        resolve(call);
      };
      waiters.add(check);
      check();
    });
  const isNth =
    (name: CallName, nth: number) =>
    (call: Call): boolean =>
      call === calls.filter(candidate => candidate.name === name)[nth - 1];
  const until = (matches: (call: Call) => boolean): Promise<Call> => waitFor(answered, matches);

  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    answers,
    logs,
    until,
    nth: (name, nth = 1) => until(isNth(name, nth)),
    arrived: (name, nth = 1) => waitFor(calls, isNth(name, nth)),
    reported: (status, attempt) =>
      until(
        ({ name, body }) =>
          name === 'status' &&
          body['status'] === status &&
          (attempt ?? body['attempt_id']) === body['attempt_id'],
      ),
    count: name => calls.filter(call => call.name === name).length,
    push: command => void stream?.write(`data: ${JSON.stringify(command)}\n\n`),
    endStream: () => void stream?.end(),
    breakStream: () => void stream?.destroy(),
    setUnreachable(value) {
      isUnreachable = value;
      if (isUnreachable) server.closeAllConnections();
    },
  };
}
