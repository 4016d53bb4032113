import { z } from 'zod';
import type { Call } from '../../protocol/call.ts';
import type { TestServer } from '../support/server.ts';
import { createRandom, type Random } from './random.ts';
import { hostile, valueLike } from './values.ts';

export interface FuzzResult {
  readonly requests: number;
  readonly byStatus: ReadonlyMap<number, number>;
  /** What must not have happened, with the request that it came of. */
  readonly faults: readonly string[];
}

export interface FuzzParts {
  readonly server: TestServer;
  readonly rows: readonly Call[];
  readonly seed: number;
  readonly requests: number;
  /** Headers of each kind of caller. */
  readonly callers: readonly Readonly<Record<string, string>>[];
  /** Ids that are really there: what knows of nothing is soon done. */
  readonly ids: readonly string[];
  /** Texts that no answer may contain. */
  readonly secrets: readonly string[];
  readonly onProgress?: (done: number) => void;
}

const schemaOf = (schema: z.ZodType): unknown =>
  z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
const atOnce = 8;
const answerWithinMs = 10_000;

/** Sends what the schemas of the calls ask for, and what they do not, as everybody who may call. */
export async function fuzz(parts: FuzzParts): Promise<FuzzResult> {
  const { rows, seed, requests, onProgress } = parts;
  const random = createRandom(seed);
  const schemas = new Map(rows.map(row => [row, { query: schemaOf(row.query), body: schemaOf(row.body) }]));
  const byStatus = new Map<number, number>();
  const faults: string[] = [];
  let done = 0;
  const send = async (): Promise<void> => {
    const row = random.pick(rows);
    const asked = makeRequest(row, schemas.get(row) ?? { query: {}, body: {} }, parts, random);
    const fault = (why: string): void =>
      void faults.push(`${why}: ${row.method} ${asked.url} ${String(asked.body).slice(0, 500)}`);
    try {
      const { status, text } = await answerOf(row, asked);
      byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
      if (status >= 500) fault(`${status} ${text.slice(0, 300)}`);
      const shown = parts.secrets.find(secret => text.includes(secret));
      if (shown !== undefined) fault('a secret was shown');
      if (status >= 400 && /\n\s+at |node_modules|SQLITE|\/tmp\//.test(text))
        fault(`told too much: ${text.slice(0, 300)}`);
    } catch (cause) {
      fault(`no answer (${String(cause)})`);
    }
    done += 1;
    if (done % 1_000 === 0) onProgress?.(done);
  };
  // As many at once as keep both sides busy; each takes the next one when it is done.
  let left = requests;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left > 0 && faults.length < 20) {
        left -= 1;
        await send();
      }
    }),
  );
  return { requests: done, byStatus, faults };
}

interface Asked {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

function makeRequest(
  row: Call,
  schemas: { readonly query: unknown; readonly body: unknown },
  { server, callers, ids }: FuzzParts,
  random: Random,
): Asked {
  const hostility = random.pick([0, 0.02, 0.1, 0.4]);
  const path = row.path.replace(/:[a-z_]+/g, () =>
    encodeURIComponent(random.chance(0.6) ? random.pick(ids) : textOf(random.pick(hostile))),
  );
  const query = valueLike(schemas.query, random, hostility);
  const pairs = typeof query === 'object' && query !== null ? Object.entries(query).slice(0, 50) : [];
  const url = new URL(server.url + path);
  for (const [name, value] of pairs) url.searchParams.append(name, textOf(value));
  const json = JSON.stringify(valueLike(schemas.body, random, hostility)) ?? '';
  const body =
    row.method === 'GET' ? null : random.chance(0.02) ? json.slice(0, random.below(json.length + 1)) : json;
  return {
    url: url.href,
    headers: { ...random.pick(callers), ...(body !== null && { 'content-type': 'application/json' }) },
    body,
  };
}

const textOf = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).toWellFormed().slice(0, 3_000);

/** Of a stream the head alone: it would never end. */
async function answerOf(row: Call, { url, headers, body }: Asked): Promise<{ status: number; text: string }> {
  const leaving = new AbortController();
  const signal = AbortSignal.any([leaving.signal, AbortSignal.timeout(answerWithinMs)]);
  const response = await fetch(url, { method: row.method, headers, body, signal, redirect: 'manual' });
  const { status } = response;
  if (row.stream === undefined || status !== 200) return { status, text: await response.text() };
  leaving.abort();
  return { status, text: '' };
}
