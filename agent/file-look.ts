import type { Progress } from '../protocol/progress.ts';
import type { Clock } from './clock.ts';
import { toBarePoint } from './file-points.ts';
import type { FileFigures, FilePoint, MetricsFiles } from './metrics-files/index.ts';
import type { BarePoint } from './point-list.ts';
import { maxKeysOfPoint, type PointBook } from './point-book.ts';
import { pause } from './backoff.ts';

/** Reads what a trainer has written since the last look. Resolves with true when there is more to read at once. */
export type FileLook = () => Promise<boolean>;

export interface FileLookOptions {
  readonly files: Pick<MetricsFiles, 'look'>;
  readonly book: Pick<PointBook, 'record'>;
  /** ms since the attempt began. */
  readonly now: () => number;
  readonly clock: Clock;
  /** ms since 1970. */
  readonly wall: () => number;
  readonly onProgress: ((progress: Progress) => void) | undefined;
}

/** A file system that hangs holds up nothing but what is in its files. */
const patienceMs = 10_000;
/** One look reads some MiB: a backlog takes several. */
const maxLooks = 8;

export function createFileLook({ files, book, now, clock, wall, onProgress }: FileLookOptions): FileLook {
  /** The look under way; one that hangs is not followed by another. */
  let looking: Promise<boolean> | null = null;

  const record = ({ live, late }: FileFigures): void => {
    const nowMs = now();
    const startWall = wall() - nowMs;
    const toPoint = (point: FilePoint): BarePoint | readonly [] => {
      const atMs = point.wallMs === null ? Number.NaN : Math.round(point.wallMs - startWall);
      // A file from another machine, or another time, says nothing of this attempt's clock.
      const isOwn = atMs >= 0 && atMs <= nowMs;
      return toBarePoint(point, isOwn ? atMs : nowMs, maxKeysOfPoint) ?? [];
    };
    book.record({ live: live.flatMap(toPoint), late: late.flatMap(toPoint) });
    const progress = progressOf([...late, ...live]);
    if (progress !== null) onProgress?.(progress);
  };

  const look = async (): Promise<boolean> => {
    for (let looks = 0; looks < maxLooks; looks += 1) {
      const figures = await files.look();
      record(figures);
      if (!figures.isBehind) return false;
    }
    return true;
  };

  return async () => {
    looking ??= look()
      .catch(() => false)
      .finally(() => (looking = null));
    const patience = new AbortController();
    const late = pause(clock, patienceMs, patience.signal).then(() => false);
    const isBehind = await Promise.race([looking, late]);
    patience.abort();
    return isBehind;
  };
}

/** How far the newest step is, and its figures. */
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
