import type { Progress } from '../../protocol/reports.ts';
import type { Clock } from '../clock.ts';
import { toBarePoint } from './file-points.ts';
import type { FileFigures, FilePoint, MetricsFiles } from './metrics-files/index.ts';
import type { BarePoint } from './point-list.ts';
import { maxKeysOfPoint, type PointBook } from './point-book.ts';
import { pause } from '../retry/retry.ts';

/**
 * Reads the metrics that a trainer has written since the last call. Resolves with true when there is more to read
 * immediately.
 */
export type ReadMetricsFiles = () => Promise<boolean>;

export interface MetricsReaderOptions {
  readonly files: Pick<MetricsFiles, 'read'>;
  readonly book: Pick<PointBook, 'record'>;
  /** Returns the ms since the attempt started. */
  readonly now: () => number;
  readonly clock: Clock;
  /** ms since 1970. */
  readonly wall: () => number;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/** The timeout of a call in ms. A file system that hangs delays only the metrics in its files. */
const readTimeoutMs = 10_000;
/** The maximum number of reads per call. One read is a few MiB, so a backlog needs several. */
const maxReads = 8;

export function createMetricsReader({
  files,
  book,
  now,
  clock,
  wall,
  onProgress,
}: MetricsReaderOptions): ReadMetricsFiles {
  /** The read in progress. While it hangs, no other read starts. */
  let reading: Promise<boolean> | null = null;

  const record = ({ live, late }: FileFigures): void => {
    const nowMs = now();
    const startWall = wall() - nowMs;
    const toPoint = (point: FilePoint): BarePoint | readonly [] => {
      const atMs = point.wallMs === null ? Number.NaN : Math.round(point.wallMs - startWall);
      // Ignore a time outside this attempt, because it is from another machine or another run.
      const isOwn = atMs >= 0 && atMs <= nowMs;
      return toBarePoint(point, isOwn ? atMs : nowMs, maxKeysOfPoint) ?? [];
    };
    book.record({ live: live.flatMap(toPoint), late: late.flatMap(toPoint) });
    const progress = progressOf([...late, ...live]);
    if (progress !== null) onProgress?.(progress);
  };

  const read = async (): Promise<boolean> => {
    for (let reads = 0; reads < maxReads; reads += 1) {
      const figures = await files.read();
      record(figures);
      if (!figures.isBehind) return false;
    }
    return true;
  };

  return async () => {
    reading ??= read()
      .catch(() => false)
      .finally(() => (reading = null));
    const timeout = new AbortController();
    const late = pause(clock, readTimeoutMs, timeout.signal).then(() => false);
    const isBehind = await Promise.race([reading, late]);
    timeout.abort();
    return isBehind;
  };
}

/** Returns the progress at the highest step, with the latest loss and learning rate. */
function progressOf(points: readonly FilePoint[]): Progress | null {
  if (points.length === 0) return null;
  const newest = points.reduce((a, b) => (b.step >= a.step ? b : a));
  const valueOf = (key: string): number | undefined =>
    points.findLast(({ values }) => typeof values[key] === 'number')?.values[key] ?? undefined;
  const fields = {
    step: newest.step,
    epoch: newest.epoch,
    loss: valueOf('loss'),
    learning_rate: valueOf('learning_rate'),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
