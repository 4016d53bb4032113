import { z } from 'zod';
import { workersApi } from '../../protocol/admin-api.ts';
import type { CallFailure, CallInput, Client } from '../../protocol/client.ts';
import { finalStatuses, JobView } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { WorkerView } from '../../protocol/worker.ts';
import type { JobsRead, Snapshot } from '../state/fleet.ts';
import type { May } from './session.ts';

interface ReadFleetDeps {
  readonly client: Client;
  readonly may: May;
  /** Aborts the reading; no more callbacks follow. */
  readonly signal: AbortSignal;
  /** Called first, with everything except further pages of active jobs. */
  readonly onFirst: (snapshot: Snapshot) => void;
  readonly onMore: (page: JobsRead) => void;
}

/** The panel keeps this many ended jobs in memory; the rest is read in pages. */
const keptJobs = 500;
const pageSize = 500;

/** For users who may see only jobs. */
const noWorkers: ListRead<WorkerView> = { ok: true, rows: [], seq: Number.POSITIVE_INFINITY, next: null };

/**
 * Reads everything that the panel keeps in memory. There may be thousands of pending jobs, so the first page is shown first. Returns null
 * when everything was read.
 */
export async function readFleet(parts: ReadFleetDeps): Promise<CallFailure | null> {
  const { client, may, signal, onFirst, onMore } = parts;
  const readActive = (from: { readonly cursor?: string }) =>
    readJobs(client, { include_completed: 'false', limit: pageSize, ...from }, signal);
  const [workers, active, ended, queue] = await Promise.all([
    may(workersApi.list) ? readWorkers(client, {}, signal) : noWorkers,
    readActive({}),
    readJobs(client, { status: finalStatuses.join(','), limit: keptJobs }, signal),
    client.call(queueApi.status, { signal }),
  ]);
  if (!workers.ok) return workers.failure;
  if (!active.ok) return active.failure;
  if (!ended.ok) return ended.failure;
  if (!queue.ok) return queue.failure;
  if (signal.aborted) return null;
  onFirst({
    workers: workers.rows,
    jobs: [...active.rows, ...ended.rows],
    queue: queue.value,
    hasAllEnded: ended.next === null,
    // The parts have different ages, so events since the oldest one must be applied again.
    seq: Math.min(workers.seq, active.seq, ended.seq),
  });
  let { next } = active;
  while (next !== null) {
    const page = await readActive({ cursor: next });
    if (!page.ok) return page.failure;
    if (signal.aborted) return null;
    onMore({ jobs: page.rows, seq: page.seq });
    next = page.next;
  }
  return null;
}

type ListRead<T> =
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
  return toListRead(await checkedRows(WorkerView, workers), seq, next);
}

/** Reads one page. */
async function readJobs(
  client: Client,
  query: CallInput<typeof queueApi.list>['query'],
  signal: AbortSignal,
): Promise<ListRead<JobView>> {
  const answer = await client.call(uncheckedJobs, { query, signal });
  if (!answer.ok) return answer;
  const { entries, as_of_seq: seq, next_cursor: next } = answer.value;
  return toListRead(await checkedRows(JobView, entries), seq, next);
}

function toListRead<T>(rows: readonly T[] | null, seq: number, next: string | null): ListRead<T> {
  if (rows !== null) return { ok: true, rows, seq, next };
  const detail = 'a list has rows that this version of the panel does not understand';
  return { ok: false, failure: { kind: 'unexpected', status: 200, detail } };
}

/** Checking yields after each slice, so that people can scroll and type. A slice is shorter than a frame. */
const sliceMs = 10;
/** Above this length, it also yields before and after checking, because parsing and rendering a long list take time too. */
const longList = 250;

/** Parses the rows with the schema; returns null when a row is invalid. @internal */
export async function checkedRows<T>(
  schema: z.ZodType<T>,
  rows: readonly unknown[],
): Promise<readonly T[] | null> {
  const checked: T[] = [];
  const isLong = rows.length > longList;
  if (isLong) await nextTurn();
  let until = performance.now() + sliceMs;
  for (const row of rows) {
    const result = schema.safeParse(row);
    if (!result.success) return null;
    checked.push(result.data);
    if (performance.now() < until) continue;
    await nextTurn();
    until = performance.now() + sliceMs;
  }
  if (isLong) await nextTurn();
  return checked;
}

/** A message is faster than a timer, which would wait 4 ms each time. */
const nextTurn = (): Promise<void> =>
  new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.addEventListener('message', () => {
      port1.close();
      resolve();
    });
    port1.start();
    port2.postMessage(null);
  });
