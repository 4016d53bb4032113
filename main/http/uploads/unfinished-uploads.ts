import type { ContentFiles } from '../../../datasets/content-files.ts';

/** Incomplete uploads of dataset contents. They use disk space and count towards the limit of datasets. */
export interface UnfinishedUploads {
  /** Returns the total bytes of all incomplete uploads, without those of the given contents. */
  bytesExcept(sha256s: ReadonlySet<string>): Promise<number>;
  /** Call it after more of this content has arrived, or the content was completed. */
  changed(sha256: string): void;
  /** Makes the next `bytesExcept` read the whole disk again, because abandoned uploads may have been removed. */
  recount(): void;
}

/** Reads all incomplete uploads once, and then only the changed ones. A full read for each file would slow down a large push. */
export function createUnfinishedUploads(files: Pick<ContentFiles, 'parts' | 'partBytes'>): UnfinishedUploads {
  type Parts = Map<string, number>;
  let counted: Promise<Parts> | null = null;

  const count = async (): Promise<Parts> => {
    const parts: Parts = new Map();
    for await (const { sha256, bytes } of files.parts()) parts.set(sha256, bytes);
    return parts;
  };
  const recountOne = async (sha256: string, partsBefore: Promise<Parts>): Promise<Parts> => {
    const parts = await partsBefore;
    const bytes = await files.partBytes(sha256);
    if (bytes === 0) parts.delete(sha256);
    else parts.set(sha256, bytes);
    return parts;
  };
  const next = (parts: Promise<Parts>): Promise<Parts> => {
    counted = parts;
    // After an error, the next call reads the disk again.
    parts.catch(() => {
      if (counted === parts) counted = null;
    });
    return parts;
  };
  return {
    async bytesExcept(sha256s) {
      const parts = await (counted ?? next(count()));
      return parts.entries().reduce((sum, [sha256, bytes]) => sum + (sha256s.has(sha256) ? 0 : bytes), 0);
    },
    changed(sha256) {
      if (counted !== null) void next(recountOne(sha256, counted));
    },
    recount() {
      counted = null;
    },
  };
}
