import { z } from 'zod';
import { workersApi } from '../../protocol/admin-api.ts';
import type { CallFailure, CallInput, Client } from '../../protocol/client.ts';
import { JobView } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { WorkerView } from '../../protocol/worker.ts';
import { checkedRows } from './checked.ts';

export type ListRead<T> =
  | {
      readonly ok: true;
      readonly rows: readonly T[];
      /** The last event that the rows include. */
      readonly seq: number;
      /** Cursor of the next page; null after the last one. */
      readonly next: string | null;
    }
  | { readonly ok: false; readonly failure: CallFailure };

/** Replies with unchecked rows: checking 5,000 rows at once would block scrolling for a quarter of a second. */
const uncheckedWorkers = {
  ...workersApi.list,
  reply: z.object({
    workers: z.array(z.unknown()),
    next_cursor: z.string().nullable(),
    as_of_seq: z.number(),
  }),
};
const uncheckedJobs = {
  ...queueApi.list,
  reply: z.object({
    entries: z.array(z.unknown()),
    next_cursor: z.string().nullable(),
    as_of_seq: z.number(),
  }),
};

/** Reads all workers, or one page. */
export async function readWorkers(
  client: Client,
  query: CallInput<typeof workersApi.list>['query'],
  signal: AbortSignal,
): Promise<ListRead<WorkerView>> {
  const answer = await client.call(uncheckedWorkers, { query, signal });
  if (!answer.ok) return answer;
  const { workers, as_of_seq: seq, next_cursor: next } = answer.value;
  return listOf(await checkedRows(WorkerView, workers), seq, next);
}

/** Reads one page. */
export async function readJobs(
  client: Client,
  query: CallInput<typeof queueApi.list>['query'],
  signal: AbortSignal,
): Promise<ListRead<JobView>> {
  const answer = await client.call(uncheckedJobs, { query, signal });
  if (!answer.ok) return answer;
  const { entries, as_of_seq: seq, next_cursor: next } = answer.value;
  return listOf(await checkedRows(JobView, entries), seq, next);
}

function listOf<T>(rows: readonly T[] | null, seq: number, next: string | null): ListRead<T> {
  if (rows !== null) return { ok: true, rows, seq, next };
  const detail = 'a list has rows that this version of the panel does not understand';
  return { ok: false, failure: { kind: 'unexpected', status: 200, detail } };
}
