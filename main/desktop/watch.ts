import { workersApi } from '../../protocol/admin-api.ts';
import { type CallFailure, type Client, createClient, type Fetch } from '../../protocol/client.ts';
import type { UiEvent } from '../../protocol/events.ts';
import type { QueueView } from '../../protocol/queue.ts';
import { sessionApi } from '../../protocol/session-api.ts';
import { queueApi } from '../../protocol/queue-api.ts';
import { liveStatuses } from '../../protocol/job.ts';
import type { WorkerView } from '../../protocol/worker.ts';
import { FeedRefused, openEvents } from '../cli/event-feed.ts';
import { applyEvent, type AttentionStats, type SummaryInput, type Summary, summaryOf } from './summary.ts';

/** Connection data of an orchestrator. The app uses the same API as the page, but its own connection. */
export interface FleetConnection {
  readonly url: string;
  readonly token: string;
  /** Defaults to the global `fetch`. */
  readonly fetch?: Fetch;
}

export interface WatchDeps {
  readonly connection: FleetConnection;
  /** `summary` is null while the orchestrator is unreachable; `trouble` is then the reason. */
  readonly onSummary: (summary: Summary | null, trouble: string | null) => void;
  /** Called once for each event after the first connection. */
  readonly onEvent: (event: UiEvent) => void;
  readonly after: (ms: number, run: () => void) => () => void;
}

export const clientFor = ({ url, token, fetch: customFetch }: FleetConnection): Client =>
  createClient({
    baseUrl: url,
    headers: () => ({ authorization: `Bearer ${token}` }),
    timeoutMs: 15_000,
    ...(customFetch === undefined ? {} : { fetch: customFetch }),
  });

const firstPauseMs = 500;
const maxPauseMs = 30_000;

/**
 * Follows a fleet until the returned function is called. After an interruption, reads the full state again and resumes the event
 * stream where it broke.
 */
function watchFleet({ connection, onSummary, onEvent, after }: WatchDeps): () => void {
  const controller = new AbortController();
  const client = clientFor(connection);
  let lastSeq: number | null = null;
  const pause = (ms: number): Promise<void> =>
    new Promise(resolve => {
      const cancelTimer = after(ms, resolve);
      controller.signal.addEventListener('abort', () => {
        cancelTimer();
        resolve();
      });
    });
  const watchOnce = async (): Promise<void> => {
    const { read, seq } = await readFleet(client, controller.signal);
    let summary = summaryOf(read);
    const show = (changed: Summary): void => {
      summary = changed;
      onSummary(summary, null);
    };
    const statsReader = createStatsReader(client, after, stats => show({ ...summary, stats }));
    show(summary);
    try {
      void statsReader.read();
      await follow(seq, event => {
        show(applyEvent(summary, event));
        statsReader.readSoon();
      });
    } finally {
      statsReader.stop();
    }
  };
  const follow = async (seq: number, apply: (event: UiEvent) => void): Promise<void> => {
    const events = await openEvents({ ...connection, signal: controller.signal, after: lastSeq ?? seq });
    lastSeq ??= seq;
    for await (const event of events) {
      // A reset means that the server cannot send all missed events. Read the full state again, without reporting events.
      if (event.kind === 'reset') {
        lastSeq = null;
        return;
      }
      lastSeq = event.seq;
      apply(event);
      onEvent(event);
    }
  };
  const watchUntilStopped = async (): Promise<void> => {
    let pauseMs = firstPauseMs;
    while (!controller.signal.aborted) {
      const before = lastSeq;
      try {
        await watchOnce();
      } catch (cause) {
        if (controller.signal.aborted) return;
        onSummary(null, reasonOf(cause));
      }
      pauseMs = lastSeq === before ? Math.min(maxPauseMs, pauseMs * 2) : firstPauseMs;
      await pause(pauseMs);
    }
  };
  void watchUntilStopped();
  return () => controller.abort();
}

/** Minimum interval between reads, which is long because the server counts all jobs for each answer. */
const statsDelayMs = 10_000;

/** Reads the statistics that only the server can compute: at the start, and with a delay after events. */
function createStatsReader(client: Client, after: WatchDeps['after'], show: (stats: AttentionStats) => void) {
  const controller = new AbortController();
  const { signal } = controller;
  let cancelTimer: (() => void) | null = null;
  const read = async (): Promise<void> => {
    const answer = await client.call(queueApi.stats, { signal });
    if (answer.ok && !signal.aborted) show(answer.value);
  };
  return {
    read,
    readSoon(): void {
      cancelTimer ??= after(statsDelayMs, () => {
        cancelTimer = null;
        void read();
      });
    },
    stop(): void {
      cancelTimer?.();
      controller.abort();
    },
  };
}

const pageSize = 1_000;

/**
 * Reads the state of a fleet. Parts that the token may not read are empty. The result includes all events up to `seq`, and
 * possibly later ones.
 */
async function readFleet(
  client: Client,
  signal: AbortSignal,
): Promise<{ readonly read: SummaryInput; readonly seq: number }> {
  const jobs = await client.call(queueApi.list, {
    query: { status: liveStatuses.join(','), limit: 500 },
    signal,
  });
  if (!jobs.ok) throw new FeedRefused(jobs.failure, textOf(jobs.failure));
  const blocked = await client.call(queueApi.list, { query: { blocked: 'true', limit: 500 }, signal });
  const queue = await client.call(queueApi.status, { signal });
  const session = await client.call(sessionApi.get, { signal });
  return {
    read: {
      jobs: [...jobs.value.entries, ...(blocked.ok ? blocked.value.entries : [])],
      queue: queue.ok ? queue.value : (null as QueueView | null),
      workers: await readWorkers(client, signal),
      mayPause:
        session.ok && session.value.permissions.some(permission => permission === queueApi.pause.authority),
    },
    seq: jobs.value.as_of_seq,
  };
}

async function readWorkers(client: Client, signal: AbortSignal): Promise<readonly WorkerView[]> {
  const workers: WorkerView[] = [];
  let cursor: WorkerView['id'] | null = null;
  do {
    const page: Awaited<ReturnType<typeof callWorkers>> = await callWorkers(client, cursor, signal);
    if (!page.ok) return workers;
    workers.push(...page.value.workers);
    cursor = page.value.next_cursor;
  } while (cursor !== null);
  return workers;
}

const callWorkers = (client: Client, cursor: WorkerView['id'] | null, signal: AbortSignal) =>
  client.call(workersApi.list, {
    query: { limit: pageSize, ...(cursor === null ? {} : { cursor }) },
    signal,
  });

function textOf(failure: CallFailure): string {
  if (failure.kind === 'problem') return failure.problem.detail;
  return failure.kind === 'unexpected' ? failure.detail : reasonOf(failure.cause);
}

/** Returns the innermost cause. Outer errors only report that a library call failed. */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause === undefined ? cause.message : reasonOf(cause.cause);
}

/** Id of a fleet; null for this computer's own. */
export type FleetKey = string | null;

interface WatchersDeps {
  readonly after: (ms: number, run: () => void) => () => void;
  readonly onEvent: (fleet: FleetKey, event: UiEvent) => void;
  readonly onChange: (fleet: FleetKey) => void;
}

interface Watched {
  readonly connection: FleetConnection;
  readonly stop: () => void;
  summary: Summary | null;
  trouble: string | null;
}

/** Watches several fleets, and stores the newest summary of each. */
export function createWatchers({ after, onEvent, onChange }: WatchersDeps) {
  const watched = new Map<FleetKey, Watched>();
  const start = (fleet: FleetKey, connection: FleetConnection): void => {
    const entry: Watched = {
      connection,
      summary: null,
      trouble: null,
      stop: watchFleet({
        connection,
        after,
        onEvent: event => onEvent(fleet, event),
        onSummary(summary, trouble) {
          entry.summary = summary;
          entry.trouble = trouble;
          onChange(fleet);
        },
      }),
    };
    watched.set(fleet, entry);
  };
  const stop = (fleet: FleetKey): void => {
    watched.get(fleet)?.stop();
    watched.delete(fleet);
  };
  return {
    /** Watches exactly these fleets; stops watching all others. */
    watchOnly(connections: ReadonlyMap<FleetKey, FleetConnection>): void {
      for (const [fleet, { connection }] of watched)
        if (!isSame(connections.get(fleet), connection)) stop(fleet);
      for (const [fleet, connection] of connections) if (!watched.has(fleet)) start(fleet, connection);
    },
    summary: (fleet: FleetKey): Summary | null => watched.get(fleet)?.summary ?? null,
    trouble: (fleet: FleetKey): string | null => watched.get(fleet)?.trouble ?? null,
    stop(): void {
      for (const fleet of watched.keys()) stop(fleet);
    },
  };
}

const isSame = (a: FleetConnection | undefined, b: FleetConnection): boolean =>
  a !== undefined && a.url === b.url && a.token === b.token && a.fetch === b.fetch;
