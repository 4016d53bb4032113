/** Replays recorded trainer output through the agent's readers. */

import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createMetricsReader } from '../../agent/metrics/metrics-reader.ts';
import { createMetricsFiles } from '../../agent/metrics/metrics-files/index.ts';
import { createPointBook, type PointBook } from '../../agent/metrics/point-book.ts';
import { createProgressReader, type Progress } from '../../agent/metrics/progress.ts';
import { wireProgress } from '../../agent/attempt/sent-progress.ts';
import type { MetricPoint } from '../../protocol/metrics-api.ts';
import { createVirtualClock } from './virtual-clock.ts';

const folder = join(import.meta.dirname, '../unit/agent/recordings');

/** A piece of recorded output. `t`: time in seconds since the start of the trainer. `fd`: 1 for stdout, 2 for stderr. */
export interface Chunk {
  readonly t: number;
  readonly fd: 1 | 2;
  readonly bytes: Buffer;
}

export const outputOf = (name: string): string => join(folder, `${name}.out`);

export const chunksOf = (name: string): readonly Chunk[] =>
  readFileSync(join(folder, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map(line => {
      const { t, fd, b64 } = JSON.parse(line) as { t: number; fd: 1 | 2; b64: string };
      return { t, fd, bytes: Buffer.from(b64, 'base64') };
    });

/** Returns all unsent points of the book (the agent's list of curve points) in order, and marks them as sent. */
function sendAll(book: PointBook): readonly MetricPoint[] {
  const points: MetricPoint[] = [];
  book.closeStep();
  while (!book.isEmpty()) {
    const batch = book.batch();
    points.push(...batch);
    book.taken((batch.at(-1)?.n ?? 0) + 1);
  }
  return points;
}

export interface Replay {
  readonly points: readonly MetricPoint[];
  readonly progress: Progress;
}

/**
 * Creates a replay. `print` passes output to the agent's reader. `send` reads the metrics files below `root`, unless it is
 * null.
 */
export function createReplay(root: string | null, log: (message: string) => void = () => {}) {
  const clock = createVirtualClock();
  const book = createPointBook({ isAdopted: false, adoptedMs: 0 });
  const reader = createProgressReader();
  let progress: Progress = { metrics: {} };
  const sentPoints: MetricPoint[] = [];
  const files = root === null ? null : createMetricsFiles({ root, log });
  const readFiles =
    files && createMetricsReader({ files, book, now: () => 0, clock, wall: () => 0, onProgress: undefined });
  const applyItems = (items: ReturnType<typeof reader.push>): void => {
    for (const item of items) {
      if (item.kind !== 'progress') continue;
      const stated = Object.entries(item.progress).filter(([, value]) => value !== undefined);
      progress = { ...progress, ...Object.fromEntries(stated) };
      book.note({ progress: wireProgress(item.progress), gaps: item.progress.gaps ?? [] }, 0, false);
    }
  };
  return {
    print: (bytes: Uint8Array | string) => applyItems(reader.push(bytes)),
    skipEarlier: async () => files?.skipEarlier(),
    /** Reads the files, and collects the points that are ready. */
    async send() {
      while (await readFiles?.());
      sentPoints.push(...sendAll(book));
    },
    async end(): Promise<Replay> {
      applyItems(reader.end());
      await this.send();
      return { points: sentPoints, progress };
    },
  };
}

/** Replays a whole recording. All output is read before the files of the recording appear below `root`. */
export async function replay(name: string, root: string | null): Promise<Replay> {
  const run = createReplay(root);
  for (const { bytes } of chunksOf(name)) run.print(bytes);
  if (root !== null) cpSync(outputOf(name), root, { recursive: true });
  return run.end();
}

/** Returns the values of a key by step. If a step was sent several times, the last value counts. */
export const curveOf = (points: readonly MetricPoint[], key: string): ReadonlyMap<number, number | null> =>
  new Map(
    points.flatMap(({ step, epoch, values }) => {
      const valuesOfPoint: Readonly<Record<string, number | null>> =
        epoch === undefined ? values : { ...values, epoch };
      return step === undefined || valuesOfPoint[key] === undefined
        ? []
        : [[step, valuesOfPoint[key]] as const];
    }),
  );
