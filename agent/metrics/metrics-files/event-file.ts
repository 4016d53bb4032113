import { decodeScalars } from './event.ts';
import type { MetricsFile } from './find-files.ts';
import { createNewerFilter, findLossName, gatherPoints, toMetricName, type FilePoint } from './names.ts';
import { createRecordFile } from './record-file.ts';

/** Larger records are histograms, texts or images. */
const maxRecordBytes = 2 * 1024 * 1024;
const partBytes = 512 * 1024;

export interface Piece {
  readonly points: readonly FilePoint[];
  /** The file has more to read already. */
  readonly isBehind: boolean;
}

/** Reads the scalars of an event file while it grows. */
export interface EventFile {
  read(file: MetricsFile): Promise<Piece>;
}

interface EventFileOptions {
  /** Everything before this offset belongs to an earlier attempt. */
  readonly offset: number;
  /** Gives the tags of a run below another run names of their own. */
  readonly rename: (tag: string) => string;
  /** Called once, with the offset: nothing after a corrupt record is read. */
  readonly onCorrupt: (offset: number, why: string) => void;
}

export function createEventFile({ offset, rename, onCorrupt }: EventFileOptions): EventFile {
  const file = createRecordFile({ offset, maxRecordBytes, partBytes, onCorrupt });
  const newer = createNewerFilter();
  let lossName: string | null = null;

  const parse = (records: readonly Uint8Array[], onlyNewer: boolean): readonly FilePoint[] => {
    const scalars = records.flatMap(data => {
      const event = decodeScalars(data);
      if (event === null) return [];
      return event.values.map(([tag, value]) => ({ step: event.step, wallTime: event.wallTime, tag, value }));
    });
    lossName = findLossName(
      scalars.map(({ tag }) => tag),
      lossName,
    );
    const gathered = gatherPoints();
    for (const { step, wallTime, tag, value } of scalars)
      gathered.add(step, wallTime * 1_000, rename(toMetricName(tag, lossName)), value);
    return newer(gathered.points(), onlyNewer);
  };

  return {
    async read(found) {
      const { records, isBehind, isRewritten } = await file.read(found);
      return { points: parse(records, isRewritten), isBehind };
    },
  };
}
