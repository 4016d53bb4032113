import type { Request, Response } from 'express';
import { type Authenticate, createAuth, hashOf } from '../../../main/http/auth/auth.ts';
import { socketLimits } from '../../../main/http/listener/http-listener.ts';
import type { Handler, Router, StreamHandler } from '../../../main/http/routes/route.ts';
import { mountWorkerRoutes } from '../../../main/http/routes/worker-routes.ts';
import { adminPrincipal, type Orchestrator } from '../../../main/orchestrator/index.ts';
import type { Call } from '../../../protocol/call.ts';
import { type Outcome, problems, type Refusal, refuse } from '../../../protocol/problem.ts';
import type { WorkerCommand } from '../../../protocol/worker-api.ts';
import type { SimProcess } from './process.ts';
import type { Server, ServerEnd, WireAnswer, WireRequest } from './wire.ts';

/** Events at the interface of the orchestrator, for the checks and the trace. */
export interface FrontDoorListeners {
  /** Runs a handler. All writes before its first await have this call as their cause. */
  during<T>(request: WireRequest, handle: () => T): T;
  onArrive(request: WireRequest, link: string): void;
  onAnswer(request: WireRequest, answer: WireAnswer, link: string): void;
  /** Called when the orchestrator sends a command on the stream of a worker. */
  onFrame(workerToken: string, command: WorkerCommand): void;
  onStream(workerToken: string, end: ServerEnd, what: 'open' | 'ended' | 'closed'): void;
  /** Called when a handler throws an unexpected error. */
  onCrash(cause: unknown): void;
}

export type FrontDoor = Pick<Server, 'serve' | 'open'>;

interface Mounted {
  readonly row: Call;
  readonly pattern: RegExp;
  readonly answer: Handler<Call> | null;
  readonly stream: StreamHandler<Call> | null;
}

interface FrontDoorDeps {
  readonly orchestrator: Orchestrator;
  readonly process: SimProcess;
  readonly listeners: FrontDoorListeners;
}

/** Serves the product's routes and authentication over a simulated network. Replaces `main/http/server.ts`. */
export function createFrontDoor({ orchestrator, process, listeners }: FrontDoorDeps): FrontDoor {
  const routes: Mounted[] = [];
  const { authenticate } = createAuth({
    adminHash: () => hashOf('a token that no client has'),
    workerByTokenHash: orchestrator.workers.byTokenHash,
    knowsJoinToken: orchestrator.workers.knowsJoinToken,
    uploaderOf: () => null,
    mayUpload: orchestrator.files.mayUpload,
    admin: adminPrincipal,
    principalByTokenHash: () => null,
    principalBySessionHash: () => null,
  });
  const streams: Parameters<typeof mountWorkerRoutes>[1]['streams'] = {
    open: (response, { pingMs, ping }) => {
      const { end, token } = targetOf(response);
      let isOver = false;
      const beat = (): void => {
        if (isOver) return;
        end.send(ping);
        process.clock.after(pingMs, beat);
      };
      process.clock.after(pingMs, beat);
      response.on('close', () => (isOver = true));
      return {
        send(command) {
          if (isOver) return;
          listeners.onFrame(token, command as WorkerCommand);
          // Convert the command to JSON and back, so that the client gets the same shape as over HTTP.
          end.send(JSON.parse(JSON.stringify(command)));
        },
        sendFrame: () => {},
        comment: () => {},
        isFull: () => false,
        onRoom: () => {},
        end() {
          if (!isOver) listeners.onStream(token, end, 'ended');
          isOver = true;
          end.end();
        },
      };
    },
  };
  const { idleMs } = socketLimits;
  mountWorkerRoutes(collectRoutes(routes), { orchestrator, streams, uploaderOf: () => null, idleMs });

  const answerTo = async (request: WireRequest): Promise<WireAnswer> => {
    try {
      if (request.kind === 'panel') throw new Error('the panel only opens streams');
      if (request.kind === 'person')
        return answerOf(await listeners.during(request, () => request.act(orchestrator)));
      const input = readRequest(routes, request, authenticate);
      if (!input.ok) return problemOf(input.refusal);
      const { mounted, value } = input.value;
      if (mounted.answer === null) throw new Error(`${request.path} is a stream`);
      const { answer } = mounted;
      return answerOf(await listeners.during(request, () => answer(value)));
    } catch (cause) {
      if (cause instanceof Error && cause.name === 'StorageError')
        return problemOf({ code: 'storage', detail: 'the change could not be stored' });
      listeners.onCrash(cause);
      return problemOf({ code: 'internal', detail: String(cause) });
    }
  };

  const openStream = (request: WireRequest, end: ServerEnd): number => {
    if (request.kind === 'person') throw new Error('people do not open streams');
    if (request.kind === 'panel') {
      end.onClose(orchestrator.lifecycle.follow(request.after, event => end.send(event)));
      return 200;
    }
    const input = readRequest(routes, request, authenticate);
    if (!input.ok) return problems[input.refusal.code].status;
    const { mounted, value } = input.value;
    if (mounted.stream === null) throw new Error(`${request.path} is no stream`);
    const { stream } = mounted;
    const response = responseFor(end, request.token);
    end.onClose(() => listeners.onStream(request.token, end, 'closed'));
    listeners.onStream(request.token, end, 'open');
    const outcome = listeners.during(request, () => stream(value, response));
    if (!outcome.ok) listeners.onStream(request.token, end, 'closed');
    return outcome.ok ? 200 : problems[outcome.refusal.code].status;
  };

  return {
    async serve(request, link) {
      listeners.onArrive(request, link);
      const answer = await answerTo(request);
      listeners.onAnswer(request, answer, link);
      return answer;
    },
    open(request, end, link) {
      listeners.onArrive(request, link);
      const status = openStream(request, end);
      listeners.onAnswer(request, { kind: 'answer', status, body: null }, link);
      return status;
    },
  };
}

function collectRoutes(routes: Mounted[]): Router {
  const patternOf = (path: string): RegExp => new RegExp(`^${path.replace(/:([a-z]+)/g, '(?<$1>[^/]+)')}$`);
  return {
    answer(row, handler) {
      routes.push({
        row,
        pattern: patternOf(row.path),
        answer: handler,
        stream: null,
      });
    },
    stream(row, handler) {
      routes.push({
        row,
        pattern: patternOf(row.path),
        answer: null,
        stream: handler,
      });
    },
    page: () => {},
    write: () => {},
    calls: () => routes.map(({ row }) => row),
    seal: () => {},
  };
}

type WorkerRequest = Extract<WireRequest, { kind: 'worker' }>;

/** Parses and authenticates a call, as `main/http/routes/route.ts` does before it calls a handler. */
function readRequest(
  routes: readonly Mounted[],
  { method, path, token, body, address }: WorkerRequest,
  authenticate: Authenticate,
): Outcome<{ readonly mounted: Mounted; readonly value: Parameters<Handler<Call>>[0] }> {
  const url = new URL(path, 'http://orchestrator.sim');
  const mounted = routes.find(({ row, pattern }) => row.method === method && pattern.test(url.pathname));
  if (mounted === undefined) return refuse('route_not_found', path);
  const request = {
    headers: { 'x-worker-token': token },
    socket: { remoteAddress: address },
  } as unknown as Request;
  const caller = authenticate(request, mounted.row);
  if (!caller.ok) return caller;
  const { row, pattern } = mounted;
  const params = row.params.safeParse({ ...pattern.exec(url.pathname)?.groups });
  const query = row.query.safeParse(Object.fromEntries(url.searchParams));
  const parsed = row.body.safeParse(body ?? {});
  if (!params.success || !query.success || !parsed.success) {
    const issue = params.error ?? query.error ?? parsed.error;
    return refuse('invalid_request', issue?.message ?? path);
  }
  const input = { params: params.data, query: query.data, body: parsed.data };
  const value = { row, ...input, caller: caller.value, request };
  return { ok: true, value: { mounted, value } };
}

interface StreamTarget {
  readonly end: ServerEnd;
  readonly token: string;
}

/** Creates the part of a response that the stream routes use. The event `close` reports the end of the connection. */
const responseFor = (end: ServerEnd, token: string): Response =>
  ({
    target: { end, token },
    on: (_event: 'close', run: () => void) => end.onClose(run),
  }) as unknown as Response;

const targetOf = (response: Response): StreamTarget =>
  (response as unknown as { readonly target: StreamTarget }).target;

const answerOf = (outcome: Outcome<unknown>): WireAnswer =>
  outcome.ok
    ? { kind: 'answer', status: 200, body: JSON.parse(JSON.stringify(outcome.value)) }
    : problemOf(outcome.refusal);

function problemOf({ code, detail, action }: Refusal): WireAnswer {
  const { status, title } = problems[code];
  const body = { type: 'about:blank', title, status, detail, code, ...(action && { action }) };
  return { kind: 'answer', status, body };
}
