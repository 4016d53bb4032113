import { eventsApi, workersApi } from '../../protocol/admin-api.ts';
import type { Client } from '../../protocol/client.ts';
import { UiEvent } from '../../protocol/events.ts';
import type { JobView } from '../../protocol/job.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { advance, fromSnapshot, type Snapshot } from '../state/fleet.ts';
import type { FleetStore } from '../state/store.ts';
import { isSignedOut } from './client.ts';

export interface FollowParts {
  readonly client: Client;
  readonly baseUrl: string;
  readonly store: FleetStore;
  readonly onSignedOut: () => void;
}

/** Ended jobs are looked at in pages; so many are kept at hand. */
const keptJobs = 500;
/** Events that come together are shown together: once a frame is as often as anybody can see. */
const batchMs = 50;
const retryMs = 2_000;

/**
 * Keeps the store as the server is: the stream first, then the snapshot, then what the stream brought since. After a gap
 * all of it begins anew. The answer ends it.
 */
export function followFleet({ client, baseUrl, store, onSignedOut }: FollowParts): () => void {
  const over = new AbortController();
  let source: EventSource | null = null;
  let waiting: UiEvent[] = [];
  let isLoaded = false;
  let flushing: ReturnType<typeof setTimeout> | null = null;

  const goStale = (): void => {
    if (store.getState().stream.kind !== 'stale')
      store.setState({ stream: { kind: 'stale', since: Date.now() } });
  };
  const begin = (): void => {
    source?.close();
    waiting = [];
    isLoaded = false;
    source = new EventSource(new URL(eventsApi.stream.path, baseUrl));
    source.addEventListener('open', () => void load());
    source.addEventListener('error', () => {
      goStale();
      // A browser gives up on an answer that is no stream, such as a refusal.
      if (source?.readyState === EventSource.CLOSED) retry();
    });
    source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      const event = UiEvent.safeParse(JSON.parse(data));
      // One of a later version is not for this page; the next snapshot has what it was about.
      if (event.success) take(event.data);
    });
  };
  const retry = (): void => {
    const timer = setTimeout(begin, retryMs);
    over.signal.addEventListener('abort', () => clearTimeout(timer));
  };
  const load = async (): Promise<void> => {
    const snapshot = await loadSnapshot(client, over.signal);
    if (over.signal.aborted) return;
    if (snapshot === 'signed out') return onSignedOut();
    if (snapshot === null) {
      goStale();
      return retry();
    }
    isLoaded = true;
    store.setState(({ fleet }) => ({
      fleet: fromSnapshot(snapshot, fleet.recent),
      stream: { kind: 'live' },
    }));
    flush();
  };
  const take = (event: UiEvent): void => {
    waiting.push(event);
    if (isLoaded) flushing ??= setTimeout(flush, batchMs);
  };
  const flush = (): void => {
    flushing = null;
    if (waiting.length === 0 || !isLoaded) return;
    const events = waiting;
    waiting = [];
    const { fleet, missed } = advance(store.getState().fleet, events);
    if (missed) return begin();
    store.setState({ fleet, stream: { kind: 'live' } });
  };

  begin();
  return () => {
    over.abort();
    source?.close();
    if (flushing !== null) clearTimeout(flushing);
  };
}

/** Null when it could not be had. */
async function loadSnapshot(client: Client, signal: AbortSignal): Promise<Snapshot | 'signed out' | null> {
  const [workers, active, ended, queue] = await Promise.all([
    client.call(workersApi.list, { signal }),
    allActive(client, signal),
    client.call(queueApi.list, { query: { status: 'completed,failed,cancelled', limit: keptJobs }, signal }),
    client.call(queueApi.status, { signal }),
  ]);
  for (const answer of [workers, ended, queue])
    if (!answer.ok && isSignedOut(answer.failure)) return 'signed out';
  if (!workers.ok || !ended.ok || !queue.ok || active === null) return null;
  // What was read first may be older than what was read last: the events since then come once more.
  const seq = Math.min(workers.value.as_of_seq, ended.value.as_of_seq, active.seq);
  return {
    workers: workers.value.workers,
    jobs: [...active.jobs, ...ended.value.entries],
    queue: queue.value,
    seq,
  };
}

async function allActive(
  client: Client,
  signal: AbortSignal,
): Promise<{ readonly jobs: readonly JobView[]; readonly seq: number } | null> {
  const jobs: JobView[] = [];
  let seq = Number.POSITIVE_INFINITY;
  let cursor: string | undefined;
  do {
    const query = { include_completed: 'false', limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await client.call(queueApi.list, { query, signal });
    if (!page.ok) return null;
    jobs.push(...page.value.entries);
    seq = Math.min(seq, page.value.as_of_seq);
    cursor = page.value.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return { jobs, seq };
}
