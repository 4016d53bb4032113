import type { MetricsFile } from './find-files.ts';
import { readPart } from './read-part.ts';
import { readRecord } from './records.ts';

interface RecordFileOptions {
  /** Everything before this offset belongs to an earlier attempt. */
  readonly offset: number;
  /** Larger records are skipped without being read. */
  readonly maxRecordBytes: number;
  /** Bytes per read; a longer record is read whole. */
  readonly partBytes: number;
  /** Called once: nothing after a corrupt record is read. */
  readonly onCorrupt: (offset: number, why: string) => void;
}

export interface RecordPiece {
  /** Views of one buffer: keep none of them longer than needed. */
  readonly records: readonly Uint8Array[];
  /** The file has more complete records. */
  readonly isBehind: boolean;
  /** The file became shorter, so it is read from its start: steps may repeat. */
  readonly isRewritten: boolean;
}

/** Reads the records of a growing TFRecord file. */
export interface RecordFile {
  read(file: MetricsFile): Promise<RecordPiece>;
}

/** Keeps only the offset of an unfinished record, and reads that record again later. */
export function createRecordFile(options: RecordFileOptions): RecordFile {
  const { offset, maxRecordBytes, partBytes, onCorrupt } = options;
  /** Offset of the first record that was not read yet. */
  let at = offset;
  let isCorrupt = false;
  let isRewritten = false;
  /** Size of the file at the previous read. */
  let seen = offset;
  /** Size of the record at `at`, as far as it is known. */
  let wanted = 0;

  const split = (bytes: Uint8Array): readonly Uint8Array[] => {
    const records: Uint8Array[] = [];
    let from = 0;
    wanted = 0;
    while (from < bytes.length) {
      const outcome = readRecord(bytes.subarray(from), maxRecordBytes);
      if (outcome.kind === 'needs_more') {
        wanted = outcome.bytes;
        break;
      }
      if (outcome.kind === 'corrupt') {
        isCorrupt = true;
        onCorrupt(at + from, outcome.why);
        break;
      }
      from += outcome.bytes;
      if (outcome.kind === 'record') records.push(outcome.data);
    }
    at += from;
    return records;
  };

  return {
    async read({ path, bytes }) {
      const nothing: RecordPiece = { records: [], isBehind: false, isRewritten };
      if (isCorrupt) return nothing;
      if (bytes < Math.min(at, seen)) {
        at = 0;
        wanted = 0;
        isRewritten = true;
      }
      seen = bytes;
      if (bytes < at + Math.max(wanted, 1)) return nothing;
      const part = await readPart(path, at, Math.max(partBytes, wanted));
      if (part === null || part.length === 0) return nothing;
      const records = split(part);
      return { records, isBehind: !isCorrupt && bytes > at && bytes >= at + wanted, isRewritten };
    },
  };
}
