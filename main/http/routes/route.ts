import type { Express, Request, Response } from 'express';
import { z } from 'zod';
import type { BodyOf, Call, ParamsOf, QueryOf, ReplyOf } from '../../../protocol/call.ts';
import { nearestName } from '../../../protocol/nearest-name.ts';
import { plainIssues } from '../../../protocol/plain-issue.ts';
import { type Outcome, refuse } from '../../../protocol/problem.ts';
import { sendJson, sendProblem } from '../listener/answer.ts';
import { type Authenticate, type Caller, type OwnerOf, refuseForeignJob } from '../auth/auth.ts';
import { discardBody, isJson, proceed, readBody } from '../listener/request-body.ts';
import type { Page } from '../docs/index.ts';
import type { OnRefused } from '../auth/failures.ts';

export interface Input<C extends Call> {
  /** The call that handles the request: the call of the path, or its variant for lists. */
  readonly row: Call;
  readonly params: ParamsOf<C>;
  readonly query: QueryOf<C>;
  readonly body: BodyOf<C>;
  readonly caller: Caller;
  readonly request: Request;
}

export type Handler<C extends Call> = (input: Input<C>) => Outcome<ReplyOf<C>> | Promise<Outcome<ReplyOf<C>>>;

/** Writes the response of a stream until it ends, or returns a refusal before the first byte. */
export type StreamHandler<C extends Call> = (input: Input<C>, response: Response) => Outcome<void>;

/** Reads the request body, if there is one, and writes the response, or returns a refusal before the first byte. */
export type WriteHandler<C extends Call> = (input: Input<C>, response: Response) => Promise<Outcome<void>>;

export interface Router {
  answer<C extends Call>(row: C, handler: Handler<C>): void;
  stream<C extends Call>(row: C, handler: StreamHandler<C>): void;
  write<C extends Call>(row: C, handler: WriteHandler<C>): void;
  /** Mounts a web page that needs no authentication and is not part of the API. */
  page(path: `/${string}`, render: () => Page): void;
  /** Returns the calls that have been mounted so far. */
  calls(): readonly Call[];
  /** Mounts the responses for unknown paths, and for wrong methods on known paths. Call it once, after the last route. */
  seal(): void;
}

export interface RouterDeps {
  readonly authenticate: Authenticate;
  readonly ownerOf: OwnerOf;
  readonly onRefused: OnRefused;
  /** Called after every response except streams. `path` contains the names of the parameters. */
  readonly onAnswered: (method: string, path: string, status: number, seconds: number) => void;
}

/**
 * Mounts calls of the protocol. For each request, the router checks the caller, the input and the job's owner. Then it calls the
 * handler and sends the response.
 */
export function createRouter(app: Express, deps: RouterDeps): Router {
  const { onRefused, onAnswered } = deps;
  const methods = new Map<string, string[]>();
  const rows: Call[] = [];
  const handlers = new Map<Call, (input: Input<Call>) => ReturnType<Handler<Call>>>();
  const admit = createAdmission(deps);
  const mount = (row: Call, handle: (input: Input<Call>, response: Response) => Promise<void>): void => {
    rows.push(row);
    methods.set(row.path, [...(methods.get(row.path) ?? []), row.method]);
    app[verbs[row.method]](row.path, async (request: Request, response: Response): Promise<void> => {
      const startedAt = performance.now();
      if (row.stream === undefined)
        response.on('finish', () =>
          onAnswered(row.method, row.path, response.statusCode, (performance.now() - startedAt) / 1000),
        );
      const input = await admit(row, request, response);
      if (input !== null) await handle(input, response);
    });
  };
  return {
    answer(row, handler) {
      handlers.set(row, input => handler(input));
      mount(row, async (input, response) => {
        const outcome = await (handlers.get(input.row) ?? handler)(input);
        if (outcome.ok) sendJson(response, outcome.value);
        // The body of a sign-in contains a secret, so a refused sign-in counts as a failed authentication.
        else sendProblem(response, onRefused(input.request, outcome.refusal, input.caller));
      });
    },
    stream(row, handler) {
      mount(row, (input, response) => {
        const outcome = handler(input, response);
        if (!outcome.ok) sendProblem(response, onRefused(input.request, outcome.refusal, input.caller));
        return Promise.resolve();
      });
    },
    write(row, handler) {
      mount(row, async (input, response) => {
        const outcome = await handler(input, response);
        if (outcome.ok) return;
        await discardBody(input.request, response);
        sendProblem(response, onRefused(input.request, outcome.refusal, input.caller));
      });
    },
    page(path, render) {
      methods.set(path, ['GET']);
      app.get(path, (_request, response) => {
        const { headers, text } = render();
        response.set(headers).send(text);
      });
    },
    calls: () => rows,
    seal() {
      for (const [path, allowed] of methods) {
        // `app.all(path)` would create a layer for each of 35 methods.
        app.route(path).all((request, response) => {
          response.setHeader('Allow', allowed.join(', '));
          sendProblem(
            response,
            refuse('method_not_allowed', `${request.method} is not one of ${allowed.join(', ')}`).refusal,
          );
        });
      }
      app.use((request, response) => {
        sendProblem(
          response,
          refuse('route_not_found', `There is no call ${request.method} ${request.path}`).refusal,
        );
      });
    },
  };
}

/** Authenticates a request and validates its input. Returns null after sending a refusal. */
function createAdmission({ authenticate, ownerOf, onRefused }: RouterDeps) {
  return async (row: Call, request: Request, response: Response): Promise<Input<Call> | null> => {
    const caller = authenticate(request, row);
    const discardUpload = (): Promise<void> =>
      row.takesBytes ? discardBody(request, response) : Promise.resolve();
    if (!caller.ok) {
      await discardUpload();
      sendProblem(response, onRefused(request, caller.refusal));
      return null;
    }
    if (!row.takesBytes) {
      if (!isJson(request)) {
        sendProblem(response, notJson);
        return null;
      }
      proceed(request, response);
      await readBody(request, response);
    }
    const parsed = parseInput(rowFor(row, request), request, caller.value);
    if (!parsed.ok) {
      await discardUpload();
      sendProblem(response, parsed.refusal, parsed.errors);
      return null;
    }
    const foreign = refuseForeignJob(row, parsed.input.params, caller.value, ownerOf);
    if (foreign === null) return parsed.input;
    await discardUpload();
    sendProblem(response, onRefused(request, foreign, caller.value));
    return null;
  };
}

const verbs = { GET: 'get', POST: 'post', PUT: 'put', PATCH: 'patch', DELETE: 'delete' } as const;

const notJson = refuse('media_type', 'Send the body as JSON, with Content-Type: application/json').refusal;

type Parsed =
  | { readonly ok: true; readonly input: Input<Call> }
  | {
      readonly ok: false;
      readonly refusal: ReturnType<typeof refuse>['refusal'];
      readonly errors: FieldError[];
    };

interface FieldError {
  readonly field: string;
  readonly message: string;
}

/**
 * Returns the call for the request. If the body is a list, that is the call's variant for lists, which needs the same
 * permission. Wraps the list in the field that the variant expects.
 */
function rowFor(row: Call, request: Request): Call {
  if (row.list === undefined || !Array.isArray(request.body)) return row;
  request.body = { [row.list.field]: request.body as unknown };
  return row.list.call;
}

function parseInput(row: Call, request: Request, caller: Caller): Parsed {
  const params = row.params.safeParse(request.params, plainIssues);
  const query = row.query.safeParse(request.query, plainIssues);
  const body = row.body.safeParse(request.body ?? {}, plainIssues);
  const unknown = unknownKeys(row, request.query);
  if (params.success && query.success && body.success && unknown.length === 0) {
    const input = { row, params: params.data, query: query.data, body: body.data, caller, request };
    return { ok: true, input };
  }
  const errors = [...fieldErrors(params), ...unknown, ...fieldErrors(query), ...fieldErrors(body)].slice(
    0,
    20,
  );
  const [first] = errors;
  const detail = first === undefined ? 'The request is not valid' : `${first.field}: ${first.message}`;
  return { ok: false, errors, refusal: refuse('invalid_request', detail).refusal };
}

const fieldErrors = (result: z.ZodSafeParseResult<unknown>): FieldError[] =>
  (result.error?.issues ?? []).map(({ path, message }) => ({
    field: path.map(String).join('.').slice(0, 200) || 'body',
    message: message.slice(0, 300),
  }));

/** A query key that the call does not accept. `message` suggests the most similar key. */
interface UnknownKey {
  readonly field: string;
  readonly message: string;
}

/**
 * Returns the query keys that the call does not accept. Unknown keys are refused, because a misspelt filter would select
 * everything.
 */
function unknownKeys({ query }: Call, sent: object): readonly UnknownKey[] {
  if (!(query instanceof z.ZodObject)) return [];
  const knownKeys = Object.keys(query.shape);
  return Object.keys(sent)
    .filter(key => !knownKeys.includes(key))
    .map(key => ({ field: key.slice(0, 100), message: messageFor(key, knownKeys) }));
}

function messageFor(key: string, knownKeys: readonly string[]): string {
  if (knownKeys.length === 0) return 'this call takes no query';
  const nearest = nearestName(key, knownKeys);
  return nearest === null
    ? `unknown key; this call takes ${knownKeys.join(', ')}`
    : `unknown key; did you mean \`${nearest}\`?`;
}
