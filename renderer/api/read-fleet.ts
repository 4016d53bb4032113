import { workersApi } from '../../protocol/admin-api.ts';
import type { CallFailure, Client } from '../../protocol/client.ts';
import { finalStatuses } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import type { JobsRead, Snapshot } from '../state/fleet.ts';
import { type ListRead, readJobs, readWorkers } from './lists.ts';
import type { May } from './person.ts';

export interface ReadFleetDeps {
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
