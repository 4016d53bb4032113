import { z } from 'zod';
import type { Call } from '../../protocol/call.ts';
import { sendRaw } from '../support/raw-request.ts';
import type { TestServer } from '../support/server.ts';
import { createKnown, type Headers, type Known } from './known.ts';
import { contentType, damaged, methodLike, oddHeaders, oddQuery } from './odd-parts.ts';
import { createRandom, type Random } from './random.ts';
import { hostile, valueLike } from './values.ts';

type Counts = Map<number, number>;

export interface FuzzResult {
  readonly requests: number;
  /** Number of responses with each status. */
  readonly byStatus: ReadonlyMap<number, number>;
  /** Number of responses with each status, by call such as `GET /api/queue`. */
  readonly byCall: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Violations, each with the request that caused it. */
  readonly faults: readonly string[];
}

export interface FuzzDeps {
  readonly server: TestServer;
  readonly rows: readonly Call[];
  readonly seed: number;
  readonly requests: number;
  /** Authentication headers of each kind of caller. The first caller has all permissions. */
  readonly callers: readonly Headers[];
  /** Ids of existing objects. With random ids, most requests would be answered with 404. */
  readonly ids: readonly string[];
  /** Returns a running job and the headers of its worker, so that some reports are accepted. Returns null without a job. */
  readonly runningJob?: () => {
    readonly job: string;
    readonly headers: Headers;
    readonly uploads: Headers;
  } | null;
  /** Texts that no response may contain. */
  readonly secrets: readonly string[];
  readonly onProgress?: (done: number) => void;
}

const schemaOf = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
const concurrentSenders = 8;

/**
 * Sends valid and invalid requests, built from the schemas of all calls, as all kinds of callers. Stops early after 20
 * violations.
 */
export async function fuzz(deps: FuzzDeps): Promise<FuzzResult> {
  const { rows, seed, requests, onProgress, server } = deps;
  const random = createRandom(seed);
  const known = createKnown(deps.ids, deps.callers);
  const schemas = new Map(rows.map(row => [row, { query: schemaOf(row.query), body: schemaOf(row.body) }]));
  const byStatus: Counts = new Map();
  const byCall = new Map(rows.map(row => [nameOf(row), new Map() as Counts]));
  const faults: string[] = [];
  let done = 0;
  const send = async (): Promise<void> => {
    const row = pickRow(rows, known, random);
    const request = makeRequest(row, schemas.get(row) ?? { query: {}, body: {} }, known, random, deps);
    const fault = (why: string): void =>
      void faults.push(`${why}: ${request.method} ${request.path} ${String(request.body).slice(0, 500)}`);
    try {
      const { status, text } = await sendRaw(server.url, request);
      count(byStatus, status);
      if (request.method === row.method) count(byCall.get(nameOf(row)), status);
      if (status === 200 && row.method === 'POST') known.learn(text);
      for (const why of findViolations(status, text, deps)) fault(why);
    } catch (cause) {
      fault(`no response (${String(cause)})`);
    }
    done += 1;
    if (done % 1_000 === 0) onProgress?.(done);
  };
  // Each sender waits for the response before it sends its next request. Several senders keep client and server busy.
  let left = requests;
  await Promise.all(
    Array.from({ length: concurrentSenders }, async () => {
      while (left > 0 && faults.length < 20) {
        left -= 1;
        await send();
      }
    }),
  );
  return { requests: done, byStatus, byCall, faults };
}

const nameOf = ({ method, path }: Call): string => `${method} ${path}`;

const count = (counts: Counts | undefined, status: number): void =>
  void counts?.set(status, (counts.get(status) ?? 0) + 1);

function findViolations(status: number, text: string, { secrets, server }: FuzzDeps): readonly string[] {
  const hasSecret = secrets.some(secret => text.includes(secret));
  const hasInternals =
    /\n\s+at |node_modules|SQLITE|no such table/.test(text) || text.includes(server.dataDir);
  return [
    ...(status >= 500 ? [`${status} ${text.slice(0, 300)}`] : []),
    ...(hasSecret ? ['a secret in the response'] : []),
    ...(status >= 400 && hasInternals ? [`internal details in the response: ${text.slice(0, 300)}`] : []),
  ];
}

/** Picks a call. Backups are rare, because they are slow. Creating workers and tokens becomes rare after 60 tokens. */
function pickRow(rows: readonly Call[], known: Known, random: Random): Call {
  const row = random.pick(rows);
  const isRare =
    row.path === '/api/backup' ||
    (/^\/api\/(?:admin\/workers|tokens)$/.test(row.path) && known.tokensCreated() > 60);
  return row.method === 'POST' && isRare && random.chance(0.9) ? pickRow(rows, known, random) : row;
}

interface FuzzRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
}

/** Builds a request for this call from its schemas. Some requests have hostile values, odd headers or a damaged body. */
function makeRequest(
  row: Call,
  schemas: { readonly query: unknown; readonly body: unknown },
  known: Known,
  random: Random,
  { server, runningJob }: FuzzDeps,
): FuzzRequest {
  // The probability of a hostile value in place of each part of query and body.
  const hostility = random.pick([0, 0, 0.02, 0.1, 0.4]);
  const realId = () => known.id(random);
  const ownJob = row.path.includes('/job/') && random.chance(0.3) ? (runningJob?.() ?? null) : null;
  const uploadJob = row.authority === 'upload' && random.chance(0.8) ? (runningJob?.() ?? null) : null;
  const path = row.path.replace(/[:*][a-z_]+/g, name =>
    encodeURIComponent(
      name === ':bucket' && uploadJob !== null
        ? random.pick(['outputs', uploadJob.job])
        : ownJob !== null
          ? ownJob.job
          : random.chance(0.8)
            ? known.id(random, idPrefixOf(row))
            : textOf(random.pick(hostile)),
    ),
  );
  const query = valueLike(schemas.query, random, hostility, realId);
  const pairs = typeof query === 'object' && query !== null ? Object.entries(query).slice(0, 50) : [];
  const search = new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, textOf(value)]),
  ).toString();
  const request = [search, oddQuery(random)].filter(part => part !== '').join('&');
  const method = methodLike(row.method, random);
  const isSignIn = row.method === 'POST' && row.path === '/api/session' && random.chance(0.3);
  const body = isSignIn
    ? { token: known.bearer(random) }
    : valueLike(schemas.body, random, hostility, realId);
  const json = JSON.stringify(body) ?? '';
  const hasBody = row.method === 'GET' ? random.chance(0.02) : random.chance(0.98);
  const odd = oddHeaders(random);
  const caller = Object.entries(uploadJob?.uploads ?? ownJob?.headers ?? known.caller(random, row.authority));
  // Browsers sign in from a page of the panel.
  if (row.authority === 'open' && random.chance(0.7)) caller.push(['origin', server.url]);
  return {
    method,
    path: request === '' ? path : `${path}?${request}`,
    headers: [...caller, ...(hasBody ? contentType(random) : []), ...odd],
    ...(hasBody && { body: damaged(json, random) }),
  };
}

/** Returns the prefix of the ids that this call takes in its path, or an empty string when the path has no id. */
const idPrefixOf = ({ path }: Call): string => {
  const [, kind = ''] = /^\/api\/(?:admin\/)?(\w+)/.exec(path) ?? [];
  return (
    {
      queue: 'j_',
      cloud: 'j_',
      workers: path.includes('/job/') ? 'j_' : 'w_',
      tokens: 't_',
      configs: 'kept',
    }[kind] ?? ''
  );
};

const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed().slice(0, 3_000);
