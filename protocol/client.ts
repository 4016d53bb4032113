import type { z } from 'zod';
import type { Call } from './call.ts';
import { Problem } from './problem.ts';

export type CallInput<C> =
  C extends Call<infer P, infer Q, infer B, z.ZodType>
    ? {
        readonly params?: z.input<P>;
        readonly query?: z.input<Q>;
        readonly body?: z.input<B>;
        /** Beside those that go with every call. */
        readonly headers?: Readonly<Record<string, string>>;
        readonly signal?: AbortSignal;
        /** For a call that takes its time, in the place of the client's own. */
        readonly timeoutMs?: number;
      }
    : never;

/** How a call failed: the server said why, answered something else, or could not be reached at all. */
export type CallFailure =
  | { readonly kind: 'problem'; readonly status: number; readonly problem: Problem }
  | { readonly kind: 'unexpected'; readonly status: number; readonly detail: string }
  | { readonly kind: 'unreachable'; readonly cause: unknown };

/** What a caller gets, once the schema has read it. */
export type ValueOf<C> = C extends Call<z.ZodType, z.ZodType, z.ZodType, infer R> ? z.output<R> : never;

export type CallResult<C> =
  | { readonly ok: true; readonly value: ValueOf<C> }
  | { readonly ok: false; readonly failure: CallFailure };

export interface Client {
  call<C extends Call>(row: C, input?: CallInput<C>): Promise<CallResult<C>>;
}

/** What comes piece by piece. */
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

/** As they come. Throws when the way breaks; whoever stops reading ends it. */
export async function* piecesOf(body: AnswerBody): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    // One that broke has said so by now.
    await reader.cancel().catch(() => undefined);
  }
}

/** What is needed of an answer: every `fetch` has it, whichever library it is of. */
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

/** One way to the network: the global `fetch`, or one that is particular about whom it speaks to. */
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

/** A body that is read while it is sent. */
export interface Stretch {
  readonly bytes: number;
  pieces(): AsyncIterable<Uint8Array>;
}

/** A `Fetch` that can also send what would not fit into memory. */
export type Send = (
  url: URL,
  init: Omit<Parameters<Fetch>[1], 'body'> & { readonly body?: string | Stretch },
) => Promise<Answer>;

export interface ClientOptions {
  /** The orchestrator's address, with or without a slash at its end. */
  readonly baseUrl: string;
  /** Asked before every call, so that a rotated token is used at once. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** A call without an answer fails after this long. */
  readonly timeoutMs: number;
  /** The global one unless told. */
  readonly fetch?: Fetch;
}

export function urlOf(baseUrl: string, path: string, params: object = {}, query: object = {}): URL {
  const values = new Map<string, unknown>(Object.entries(params));
  const filled = path.replace(/[:*]([a-z_]+)/g, (_, name: string) =>
    [values.get(name)]
      .flat()
      .map(part => encodeURIComponent(String(part)))
      .join('/'),
  );
  const url = new URL(baseUrl.replace(/\/+$/, '') + filled);
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(key, String(value));
  }
  return url;
}

/** Calls rows of the contract over HTTP. Failures are values; nothing is retried here. */
export function createClient(options: ClientOptions): Client {
  const fetchOver = options.fetch ?? fetch;
  const send = async (row: Call, input: CallInput<Call>): Promise<Answer> => {
    const timeout = AbortSignal.timeout(input.timeoutMs ?? options.timeoutMs);
    const url = urlOf(options.baseUrl, row.path, input.params ?? {}, input.query ?? {});
    return fetchOver(url, {
      method: row.method,
      // A redirect could carry the token to another host (docs/internals/faults.md S18).
      redirect: 'error',
      signal: input.signal ? AbortSignal.any([input.signal, timeout]) : timeout,
      headers: {
        accept: 'application/json',
        ...(row.method === 'GET' ? {} : { 'content-type': 'application/json' }),
        ...input.headers,
        ...options.headers(),
      },
      ...(row.method === 'GET' ? {} : { body: JSON.stringify(input.body ?? {}) }),
    });
  };
  return {
    async call<C extends Call>(row: C, input?: CallInput<C>): Promise<CallResult<C>> {
      const fail = (failure: CallFailure) => ({ ok: false, failure }) as CallResult<C>;
      try {
        const response = await send(row, input ?? {});
        const text = await response.text();
        const body = parseJson(text);
        const value = response.ok ? row.reply.safeParse(body) : undefined;
        if (value?.success) return { ok: true, value: value.data } as CallResult<C>;
        const problem = Problem.safeParse(body);
        if (problem.success) return fail({ kind: 'problem', status: response.status, problem: problem.data });
        const detail = `${row.method} ${row.path} was answered ${response.status} with something unexpected: ${text.slice(0, 200)}`;
        return fail({ kind: 'unexpected', status: response.status, detail });
      } catch (cause) {
        return fail({ kind: 'unreachable', cause });
      }
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
