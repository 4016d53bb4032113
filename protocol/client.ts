import type { z } from 'zod';
import type { Call } from './call.ts';
import { Problem } from './problem.ts';

export type CallInput<C> =
  C extends Call<infer P, infer Q, infer B, z.ZodType>
    ? {
        readonly params?: z.input<P>;
        readonly query?: z.input<Q>;
        readonly body?: z.input<B>;
        /** Added to the client's headers. */
        readonly headers?: Readonly<Record<string, string>>;
        readonly signal?: AbortSignal;
        /** Overrides the client's timeout, for slow operations. */
        readonly timeoutMs?: number;
      }
    : never;

/** The failure of a call: the server returned a problem, the response was unexpected, or the server was unreachable. */
export type CallFailure =
  | { readonly kind: 'problem'; readonly status: number; readonly problem: Problem }
  | { readonly kind: 'unexpected'; readonly status: number; readonly detail: string }
  | { readonly kind: 'unreachable'; readonly cause: unknown };

/** The reply after schema parsing. */
export type ValueOf<C> = C extends Call<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.output<R> : never;

export type CallResult<C> =
  | { readonly ok: true; readonly value: ValueOf<C> }
  | { readonly ok: false; readonly failure: CallFailure };

export interface Client {
  call<C extends Call>(operation: C, input?: CallInput<C>): Promise<CallResult<C>>;
}

/** A streamed response body. */
export interface AnswerBody {
  getReader(): {
    read(): Promise<
      | { readonly done: false; readonly value: Uint8Array }
      | { readonly done: true; readonly value?: Uint8Array | undefined }
    >;
    cancel(): Promise<void>;
  };
  cancel(): Promise<void>;
}

/** Yields the chunks of a response. Throws when the connection breaks. Leaving the loop cancels the stream. */
export async function* piecesOf(body: AnswerBody): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // If the stream is broken, its error was already thrown.
    await reader.cancel().catch(() => undefined);
  }
}

/** The part of a response that every `fetch` implementation provides. */
export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: { get(name: string): string | null };
  readonly body: AnswerBody | null;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/** Sends a request: the global `fetch`, or an implementation that verifies the server's identity. */
export type Fetch = (
  url: URL,
  init: {
    readonly method?: string;
    readonly headers?: Record<string, string>;
    readonly body?: string;
    readonly redirect?: 'error' | 'manual';
    readonly signal?: AbortSignal;
  },
) => Promise<Answer>;

/** A request body that is read while it is sent. */
export interface StreamBody {
  readonly bytes: number;
  pieces(): AsyncIterable<Uint8Array>;
}

/** A `Fetch` that can also send a streamed body, which need not fit into memory. */
export type Send = (
  url: URL,
  init: Omit<Parameters<Fetch>[1], 'body'> & { readonly body?: string | StreamBody },
) => Promise<Answer>;

export interface ClientOptions {
  /** URL of the orchestrator, with or without a trailing slash. */
  readonly baseUrl: string;
  /** Called for every request, so that a rotated token takes effect immediately. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Timeout of a request, in milliseconds. */
  readonly timeoutMs: number;
  /** Defaults to the global `fetch`. */
  readonly fetch?: Fetch;
}

/** Builds the URL of a call. `params` fills the `:name` and `*name` parts of `path`. Omits undefined query values. */
export function urlOf(baseUrl: string, path: string, params: object = {}, query: object = {}): URL {
  const values = new Map<string, unknown>(Object.entries(params));
  // The value of a `*name` parameter is a list of segments.
  const segmentsOf = (name: string): readonly unknown[] => [values.get(name)].flat();
  const filled = path.replace(/[:*]([a-z_]+)/g, (_, name: string) =>
    segmentsOf(name)
      .map(segment => encodeURIComponent(String(segment)))
      .join('/'),
  );
  const url = new URL(baseUrl.replace(/\/+$/, '') + filled);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(key, String(value));
  }
  return url;
}

/** Calls operations of the API over HTTP. Returns failures as values and never retries. */
export function createClient(options: ClientOptions): Client {
  const fetchOver = options.fetch ?? fetch;
  const send = async (operation: Call, input: CallInput<Call>): Promise<Answer> => {
    const timeout = AbortSignal.timeout(input.timeoutMs ?? options.timeoutMs);
    const url = urlOf(options.baseUrl, operation.path, input.params ?? {}, input.query ?? {});
    return fetchOver(url, {
      method: operation.method,
      // A redirect could carry the token to another host (docs/internals/faults.md S18).
      redirect: 'error',
      signal: input.signal ? AbortSignal.any([input.signal, timeout]) : timeout,
      headers: {
        accept: 'application/json',
        ...(operation.method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...input.headers,
        ...options.headers(),
      },
      ...(operation.method === 'GET' ? {} : { body: JSON.stringify(input.body ?? {}) }),
    });
  };
  return {
    async call<C extends Call>(operation: C, input?: CallInput<C>): Promise<CallResult<C>> {
      const fail = (failure: CallFailure) => ({ ok: false, failure }) as CallResult<C>;
      try {
        const response = await send(operation, input ?? {});
        const text = await response.text();
        const body = parseJson(text);
        const value = response.ok ? operation.reply.safeParse(body) : undefined;
        if (value?.success) return { ok: true, value: value.data } as CallResult<C>;
        const problem = Problem.safeParse(body);
        if (problem.success) return fail({ kind: 'problem', status: response.status, problem: problem.data });
        const { method, path } = operation;
        const detail = `${method} ${path} had the unexpected response ${response.status}: ${text.slice(0, 200)}`;
        return fail({ kind: 'unexpected', status: response.status, detail });
      } catch (cause) {
        return fail({ kind: 'unreachable', cause });
      }
    },
  };
}

/** Returns undefined when the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
