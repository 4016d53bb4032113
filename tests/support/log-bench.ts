import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '../../protocol/client.ts';
import {
  LogEvent,
  type LogChunkBody,
  logsApi,
  type LogPage,
  workerLogsApi,
} from '../../protocol/logs-api.ts';
import { type TestServer, valueOf } from './server.ts';
import type { JobOffer, Rig } from './upload-bench.ts';

type Reachable = Pick<TestServer, 'url' | 'admin'>;

/** Uploads the log of one attempt to the server. */
export interface Shipper {
  /** Sends one chunk unchanged. Resolves with the new end of the stored log, as a byte position. */
  ship(chunk: Partial<LogChunkBody>): Promise<number>;
  /** Appends text to the log, in chunks of at most 50,000 characters. `isLast` marks the end of the log. */
  print(text: string, isLast?: boolean): Promise<void>;
  /** Makes the worker's API call and returns its result. */
  readonly call: ReturnType<typeof shipCall>;
}

const shipCall =
  (url: string, token: string, { jobId, attemptId }: Pick<JobOffer, 'jobId' | 'attemptId'>) =>
  (chunk: Partial<LogChunkBody>) =>
    createClient({ baseUrl: url, headers: () => ({ 'x-worker-token': token }), timeoutMs: 10_000 }).call(
      workerLogsApi.ship,
      {
        params: { id: jobId },
        body: { attempt_id: attemptId, after: 0, from: chunk.after ?? 0, to: 0, text: '', ...chunk },
      },
    );

const chunkLength = 50_000;

/** Uploads logs as an agent does, but without an agent. */
export function createShipper(
  url: string,
  rig: Pick<Rig, 'token'>,
  offer: Pick<JobOffer, 'jobId' | 'attemptId'>,
): Shipper {
  const call = shipCall(url, rig.token, offer);
  let position = 0;
  const ship = async (chunk: Partial<LogChunkBody>): Promise<number> => valueOf(await call(chunk)).next;
  return {
    call,
    ship,
    async print(text, isLast = false) {
      const pieces = text.match(new RegExp(`[^]{1,${chunkLength}}`, 'g')) ?? [''];
      for (const [n, piece] of pieces.entries()) {
        const end = position + Buffer.byteLength(piece);
        const is_last = isLast && n === pieces.length - 1;
        const next = await ship({ after: position, from: position, to: end, text: piece, is_last });
        if (next !== end) throw new Error(`${piece.slice(0, 40)} was not accepted: the log ends at ${next}`);
        position = next;
      }
    },
  };
}

export const readLog = async (
  { admin }: Reachable,
  id: JobOffer['jobId'],
  query: { readonly attempt?: number; readonly line?: number; readonly limit?: number } = {},
): Promise<LogPage> => valueOf(await admin.call(logsApi.read, { params: { id }, query }));

export const textsOf = ({ lines }: Pick<LogPage, 'lines'>): readonly string[] =>
  lines.map(({ text }) => text);

/** Reads a log stream event by event. */
export async function openLogStream(
  { url, adminToken }: Pick<TestServer, 'url' | 'adminToken'>,
  id: string,
  query = '',
  headers: Readonly<Record<string, string>> = {},
) {
  const controller = new AbortController();
  const response = await fetch(`${url}/api/queue/${id}/logs/stream${query}`, {
    headers: { authorization: `Bearer ${adminToken}`, ...headers },
    signal: controller.signal,
  });
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  const events: { readonly id: number; readonly event: LogEvent }[] = [];
  let rest = '';
  const read = async (): Promise<boolean> => {
    const { done, value } = await reader.read();
    if (done) return false;
    const frames = (rest + decoder.decode(value, { stream: true })).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const [, number, data] = /^id: (\d+)\ndata: (.*)$/.exec(frame) ?? [];
      if (data !== undefined) events.push({ id: Number(number), event: LogEvent.parse(JSON.parse(data)) });
    }
    return true;
  };
  const lines = () => events.flatMap(({ event }) => (event.type === 'lines' ? event.lines : []));
  return {
    response,
    events,
    lines,
    close: () => controller.abort(),
    /** Reads until the condition holds. */
    async until(holds: () => boolean): Promise<void> {
      while (!holds())
        if (!(await read())) throw new Error(`the stream ended: ${JSON.stringify(events.slice(-3))}`);
    },
    async end(): Promise<void> {
      while (await read());
    },
    /** Waits for this many ms without reading the stream. */
    rest: (ms: number) => pause(ms),
  };
}
