import type { ContentFiles } from '../../datasets/content-files.ts';

/** What has arrived of contents that are not complete. It takes room on the disk, and counts towards the limit of the datasets. */
export interface UnfinishedUploads {
  /** Bytes of the parts of all contents but these. */
  besides(sha256s: ReadonlySet<string>): Promise<number>;
  /** More of this content has arrived, or it is complete. */
  changed(sha256: string): void;
  /** Looks at the whole disk for the next answer, because parts that nobody continues are removed after a day. */
  recount(): void;
}

/** Looks at the whole disk once, and then only at what changes: a look for each file would slow a large push down. */
export function createUnfinishedUploads(files: Pick<ContentFiles, 'parts' | 'arrived'>): UnfinishedUploads {
  type Parts = Map<string, number>;
  let counted: Promise<Parts> | null = null;

  const count = async (): Promise<Parts> => {
    const parts: Parts = new Map();
    for await (const { sha256, bytes } of files.parts()) parts.set(sha256, bytes);
    return parts;
  };
  const look = async (sha256: string, known: Promise<Parts>): Promise<Parts> => {
    const parts = await known;
    const bytes = await files.arrived(sha256);
    if (bytes === 0) parts.delete(sha256);
    else parts.set(sha256, bytes);
    return parts;
  };
  const next = (parts: Promise<Parts>): Promise<Parts> => {
    counted = parts;
    // The disk may answer again later.
    parts.catch(() => {
      if (counted === parts) counted = null;
    });
    return parts;
  };
  return {
    async besides(sha256s) {
      const parts = await (counted ?? next(count()));
      return parts.entries().reduce((sum, [sha256, bytes]) => sum + (sha256s.has(sha256) ? 0 : bytes), 0);
    },
    changed(sha256) {
      if (counted !== null) void next(look(sha256, counted));
    },
    recount() {
      counted = null;
    },
  };
}
