import { z } from 'zod';
import type { Authority } from '../../protocol/call.ts';
import type { Random } from './random.ts';

export type Headers = Readonly<Record<string, string>>;

/** Existing ids and tokens, so that requests pass the first checks. Learns further ids from responses. */
export interface Known {
  /** Returns an id, usually one with the prefix `like`: `j_` for jobs, `w_` for workers. */
  id(random: Random, like?: string): string;
  /** Returns headers of a caller, usually of the kind that the call accepts. */
  caller(random: Random, authority: Authority): Headers;
  /** Returns the bearer token of a random caller, or an empty string for a caller without one. */
  bearer(random: Random): string;
  /** Returns the number of tokens created so far. */
  tokensCreated(): number;
  /** Remembers the ids and the token in the JSON of a response. Ignores any other text. */
  learn(response: string): void;
}

/** Maximum number of learned ids. The oldest learned id is dropped first. */
const maxIds = 40;

const CreatedObjects = z.object({
  job_id: z.string().nullish(),
  worker_id: z.string().nullish(),
  id: z.string().nullish(),
  name: z.string().nullish(),
  token: z.string().nullish(),
  attempts: z.array(z.object({ attempt_id: z.string() })).optional(),
});

export function createKnown(ids: readonly string[], callers: readonly Headers[]): Known {
  const known = [...ids];
  const workers: Headers[] = [];
  const users: Headers[] = [];
  const firstIds = known.length;
  let tokensCreated = 0;
  const add = (id: string | null | undefined): void => {
    if (!id || known.includes(id)) return;
    known.push(id);
    if (known.length > firstIds + maxIds) known.splice(firstIds, 1);
  };
  const remember = (list: Headers[], headers: Headers): void => {
    list.push(headers);
    if (list.length > 4) list.shift();
  };
  return {
    id(random, like = '') {
      const fitting = known.filter(id => id.startsWith(like));
      return random.pick(fitting.length > 0 && random.chance(0.9) ? fitting : known);
    },
    caller(random, authority) {
      const all = [...callers, ...workers, ...users];
      const isFor = (headers: Headers): boolean => 'x-worker-token' in headers === (authority === 'worker');
      // The first caller has all permissions.
      if (authority !== 'worker' && random.chance(0.4)) return random.pick(callers);
      return random.pick(random.chance(0.8) ? all.filter(isFor) : all);
    },
    bearer: random => random.pick([...callers, ...users])['authorization']?.slice('Bearer '.length) ?? '',
    tokensCreated: () => tokensCreated,
    learn(response) {
      const parsed = CreatedObjects.safeParse(parseJson(response)).data;
      if (parsed === undefined) return;
      // In a response with a token, `worker_id` is new. In a job, it is the id of an existing worker.
      for (const id of [parsed.job_id, parsed.token ? parsed.worker_id : null, parsed.id]) add(id);
      for (const { attempt_id: id } of parsed.attempts ?? []) add(id);
      if (typeof parsed.token !== 'string') return;
      tokensCreated += 1;
      if (parsed.token.startsWith('wt_')) remember(workers, { 'x-worker-token': parsed.token });
      else remember(users, { authorization: `Bearer ${parsed.token}` });
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
