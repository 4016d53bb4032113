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
  /** Aborts the read; no callbacks follow. */
  readonly signal: AbortSignal;
  /** Called once with everything except the later pages of pending and running jobs. */
  readonly onFirst: (snapshot: Snapshot) => void;
  readonly onMore: (page: JobsRead) => void;
}

/** Number of ended jobs that the panel keeps in memory. Pages read older jobs from the server when they need them. */
const keptJobs = 500;
const pageSize = 500;

/** Used when the user may not read the list of workers. The infinite `seq` never determines the snapshot's `seq`. */
const noWorkers: ListRead<WorkerView> = { ok: true, rows: [], seq: Number.POSITIVE_INFINITY, next: null };

/**
 * Reads everything that the panel keeps in memory. Calls `onFirst` before it reads the later pages of jobs, because
 * thousands of jobs may be pending. Returns the first failure; null on success or when aborted.
 */
export async function readFleet(deps: ReadFleetDeps): Promise<CallFailure | null> {
  const { client, may, signal, onFirst, onMore } = deps;
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
    hasAllEndedJobs: ended.next === null,
    // The lists were read at different times. Use the lowest number, so that no event after any read is skipped.
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
      /** Number of the newest event that the rows include. */
      readonly seq: number;
      /** Cursor of the next page; null after the last one. */
      readonly next: string | null;
    }
  | { readonly ok: false; readonly failure: CallFailure };

/**
 * Calls without validation of the rows: `checkedRows` validates them in slices, because checking 5,000 rows together
 * would block scrolling for a quarter of a second.
 */
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

/** Reads all workers, or one page of them when `query` has a limit. */
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

/** Reads one page of jobs. */
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

/** Validation pauses after this time, so that the page can scroll and react to keys. It is shorter than a frame. */
const sliceMs = 10;
/** Lists longer than this also pause before and after validation, because parsing and rendering them takes time too. */
const longList = 250;

/** Validates the rows in slices; returns null when one of them is invalid. @internal */
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

/** Resolves in the next turn of the event loop. A message is faster than a timer, which browsers delay by 4 ms. */
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
