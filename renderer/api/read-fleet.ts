import { workersApi } from '../../protocol/admin-api.ts';
import type { CallFailure, Client } from '../../protocol/client.ts';
import { finalStatuses } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import type { JobsRead, Snapshot } from '../state/fleet.ts';
import { type ListRead, readJobs, readWorkers } from './lists.ts';
import type { May } from './person.ts';

export interface ReadFleetParts {
  readonly client: Client;
  readonly may: May;
  /** Ends it: nothing is told any more. */
  readonly signal: AbortSignal;
  /** Comes first, with all but further jobs that have not ended. */
  readonly onFirst: (snapshot: Snapshot) => void;
  readonly onMore: (page: JobsRead) => void;
}

/** Ended jobs are looked at in pages; so many are kept at hand. */
const keptJobs = 500;
const pageSize = 500;

/** Of who may look at jobs alone. */
const noWorkers: ListRead<WorkerView> = { ok: true, rows: [], seq: Number.POSITIVE_INFINITY, next: null };

/** All that the panel keeps at hand. Jobs wait in their thousands: what is seen first is there first. Null when it is whole. */
export async function readFleet(parts: ReadFleetParts): Promise<CallFailure | null> {
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
    // What was read first may be older than what was read last: the events since then come once more.
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
