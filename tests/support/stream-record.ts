import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { createNotices, type Found, type Notices } from './notices.ts';

const Named = z.looseObject({ status: z.string() }).nullish();

/** An event of the event stream. Unknown fields are accepted, as external clients must do. */
const EventLine = z.looseObject({
  seq: z.number(),
  kind: z.string(),
  type: z.string().default(''),
  job_id: z.string().nullish(),
  worker_id: z.string().nullish(),
  attempt: z.number().default(0),
  cause: z.string().nullish(),
  job: Named,
  worker: Named,
});
export type EventLine = z.output<typeof EventLine>;

/**
 * Records all events of a server, starting with the first. The record often breaks its own connection, so that every scenario
 * tests how the stream resumes (invariant I6 in docs/internals/faults.md).
 */
export interface StreamRecord {
  readonly events: readonly EventLine[];
  /** Descriptions of problems: a gap, a repeat, an unexpected reset, a wrong SSE id, or a frame that is no event. */
  readonly faults: readonly string[];
  /** Accepts one more reset. All other resets are faults. */
  expectReset(): void;
  /** The number of connections so far. */
  readonly connections: number;
  readonly waitFor: Notices['waitFor'];
  /** Resolves with the first result of `pick` that is not empty, for the events from index `from` on. */
  event<T>(what: string, pick: (event: EventLine) => Found<T>, from?: number, timeoutMs?: number): Promise<T>;
  /** Waits for an event of this job, such as `job.running`, from index `from` on. Resolves with the index of the event. */
  job(id: string, type: string, from?: number, timeoutMs?: number): Promise<number>;
  /** Waits for an event of this worker, such as `worker.offline`, from index `from` on. Resolves with the index of the event. */
  worker(id: string, type: string, from?: number, timeoutMs?: number): Promise<number>;
  close(): void;
}

export interface StreamRecordDeps {
  /** Called before each connection. Returns null while no server runs. */
  readonly url: () => string | null;
  readonly token: () => string;
}

const reconnectMs = 50;

/**
 * Returns the number of events after which the n-th connection breaks. Most connections break soon, but some read a long backlog.
 */
const breakAfter = (connection: number): number => 4 * 2 ** (connection % 7);

export function startStreamRecord({ url, token }: StreamRecordDeps): StreamRecord {
  const notices = createNotices();
  const controller = new AbortController();
  const events: EventLine[] = [];
  const faults: string[] = [];
  let lastSeq = 0;
  let connections = 0;
  let resetsDue = 0;

  const record = ({ id, data }: SseFrame): void => {
    const parsed = EventLine.safeParse(JSON.parse(data));
    if (!parsed.success) {
      faults.push(`not an event: ${data.slice(0, 200)}`);
      return;
    }
    const event = parsed.data;
    if (id !== String(event.seq)) faults.push(`event ${event.seq} has the id ${id}`);
    if (event.kind === 'reset') {
      if (resetsDue === 0) faults.push(`a reset to ${event.seq} after ${lastSeq}`);
      else resetsDue -= 1;
    }
    if (event.kind !== 'reset' && event.seq !== lastSeq + 1)
      faults.push(`event ${event.seq} after ${lastSeq}`);
    lastSeq = Math.max(lastSeq, event.seq);
    events.push(event);
    notices.changed();
  };

  const follow = async (address: string): Promise<void> => {
    connections += 1;
    let recorded = 0;
    const headers = { authorization: `Bearer ${token()}`, 'last-event-id': String(lastSeq) };
    for await (const frame of sseFrames(new URL('/api/events', address), headers, controller.signal)) {
      record(frame);
      recorded += 1;
      if (recorded >= breakAfter(connections)) return;
    }
  };

  const run = async (): Promise<void> => {
    while (!controller.signal.aborted) {
      const address = url();
      const before = lastSeq;
      if (address !== null) await follow(address).catch(() => {});
      if (lastSeq === before)
        await pause(reconnectMs, undefined, { signal: controller.signal }).catch(() => {});
    }
  };
  void run();

  const event: StreamRecord['event'] = (what, pick, from = 0, timeoutMs) => {
    let next = from;
    return notices.waitFor(
      what,
      () => {
        while (next < events.length) {
          const candidate = events[next];
          next += 1;
          const found = candidate && pick(candidate);
          if (found !== null && found !== undefined && found !== false) return found;
        }
        return null;
      },
      timeoutMs,
    );
  };
  return {
    events,
    faults,
    expectReset: () => void resetsDue++,
    get connections() {
      return connections;
    },
    waitFor: notices.waitFor,
    event,
    job: (id, type, from, timeoutMs) =>
      event(
        `${type} of ${id}`,
        candidate => candidate.job_id === id && candidate.type === type && events.indexOf(candidate),
        from,
        timeoutMs,
      ),
    worker: (id, type, from, timeoutMs) =>
      event(
        `${type} of ${id}`,
        candidate => candidate.worker_id === id && candidate.type === type && events.indexOf(candidate),
        from,
        timeoutMs,
      ),
    close() {
      controller.abort();
      notices.end(new Error('the record is closed'));
    },
  };
}

interface SseFrame {
  readonly id: string | null;
  readonly data: string;
}

/**
 * Yields the complete frames of one connection until the connection ends. Leaving the loop closes the connection. Throws when the
 * status is not 200.
 */
export async function* sseFrames(
  url: URL,
  headers: http.OutgoingHttpHeaders,
  signal: AbortSignal,
): AsyncGenerator<SseFrame> {
  const request = http.get(url, { agent: false, headers, signal });
  try {
    const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once('response', resolve);
      request.on('error', reject);
    });
    if (answer.statusCode !== 200) throw new Error(`the event stream returned status ${answer.statusCode}`);
    answer.setEncoding('utf8');
    let rest = '';
    for await (const text of answer) {
      const blocks = (rest + String(text)).split('\n\n');
      rest = blocks.pop() ?? '';
      yield* blocks.flatMap(frameOf);
    }
  } finally {
    request.destroy();
  }
}

function frameOf(block: string): SseFrame[] {
  const field = (name: string): string | null =>
    block
      .split('\n')
      .find(line => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? null;
  const data = field('data');
  return data === null ? [] : [{ id: field('id'), data }];
}
