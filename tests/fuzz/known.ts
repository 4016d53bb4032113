import { z } from 'zod';
import type { Authority } from '../../protocol/call.ts';
import type { Random } from './random.ts';

export type Headers = Readonly<Record<string, string>>;

/** Ids and tokens that really exist, so that requests get past the first check. Ids in answers are added. */
export interface Known {
  /** Mostly one that the call could mean: `j_` for jobs, `w_` for workers. */
  id(random: Random, like?: string): string;
  /** Mostly of the kind that the call is for. */
  caller(random: Random, authority: Authority): Headers;
  /** A token of somebody. */
  bearer(random: Random): string;
  /** How many things were made so far. */
  made(): number;
  learn(answer: string): void;
}

/** How many of the newest ids of each kind are remembered. */
const most = 40;

const Telling = z.object({
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
  const people: Headers[] = [];
  const firstIds = known.length;
  let made = 0;
  const add = (id: string | null | undefined): void => {
    if (!id || known.includes(id)) return;
    known.push(id);
    if (known.length > firstIds + most) known.splice(firstIds, 1);
  };
  const keep = (list: Headers[], headers: Headers): void => {
    list.push(headers);
    if (list.length > 4) list.shift();
  };
  return {
    id(random, like = '') {
      const fitting = known.filter(id => id.startsWith(like));
      return random.pick(fitting.length > 0 && random.chance(0.9) ? fitting : known);
    },
    caller(random, authority) {
      const all = [...callers, ...workers, ...people];
      const isFor = (headers: Headers): boolean => 'x-worker-token' in headers === (authority === 'worker');
      // The first of them may do everything.
      if (authority !== 'worker' && random.chance(0.4)) return random.pick(callers);
      return random.pick(random.chance(0.8) ? all.filter(isFor) : all);
    },
    bearer: random => random.pick([...callers, ...people])['authorization']?.slice('Bearer '.length) ?? '',
    made: () => made,
    learn(answer) {
      const told = Telling.safeParse(parseJson(answer)).data;
      if (told === undefined) return;
      // Whose job it is is no news; a worker that was made is.
      for (const id of [told.job_id, told.token ? told.worker_id : null, told.id]) add(id);
      for (const { attempt_id: id } of told.attempts ?? []) add(id);
      if (typeof told.token !== 'string') return;
      made += 1;
      if (told.token.startsWith('wt_')) keep(workers, { 'x-worker-token': told.token });
      else keep(people, { authorization: `Bearer ${told.token}` });
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
