import type { FileHandle } from 'node:fs/promises';
import { reasonOf } from './failure-text.ts';

/** Appends to a file in large batches. It writes one batch while it collects the next. */
export interface BatchWriter {
  /** Resolves when the writer can accept more. */
  write(piece: Uint8Array): Promise<void>;
  /** Resolves when everything is written, or when writing has failed. */
  end(): Promise<void>;
  /** Why writing failed; null while it has not. */
  trouble(): string | null;
}

const portion = 1_048_576;

export function createBatchWriter(handle: Pick<FileHandle, 'writev' | 'appendFile'>): BatchWriter {
  let batch: Uint8Array[] = [];
  let bytes = 0;
  let writing: Promise<void> = Promise.resolve();
  let trouble: string | null = null;
  const append = async (pieces: readonly Uint8Array[], length: number): Promise<void> => {
    const { bytesWritten } = await handle.writev(pieces);
    // The system may write only a part.
    if (bytesWritten < length) await handle.appendFile(Buffer.concat(pieces).subarray(bytesWritten));
  };
  const flush = async (): Promise<void> => {
    await writing;
    if (bytes === 0 || trouble !== null) return;
    writing = append(batch, bytes).catch((cause: unknown) => {
      trouble = reasonOf(cause);
    });
    batch = [];
    bytes = 0;
  };
  return {
    async write(piece) {
      batch.push(piece);
      bytes += piece.length;
      if (bytes >= portion) await flush();
    },
    async end() {
      await flush();
      await writing;
    },
    trouble: () => trouble,
  };
}
