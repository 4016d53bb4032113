import { appendFileSync, mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Default maximum size of the log file. */
const maxBytes = 2 * 1024 ** 2;

/**
 * Returns a function that appends text to a log file. Before the file exceeds `limit` bytes, it is renamed to `<file>.1`, which
 * replaces the earlier file of that name. Writes are synchronous, so that the last lines before a crash are in the file. Write
 * errors are ignored, because the app must run even when its disk is full.
 */
export function openLogFile(file: string, limit = maxBytes): (text: string) => void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  let size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  return text => {
    try {
      const bytes = Buffer.byteLength(text);
      if (size > 0 && size + bytes > limit) {
        renameSync(file, `${file}.1`);
        size = 0;
      }
      appendFileSync(file, text, { mode: 0o600 });
      size += bytes;
    } catch {
      // Ignored, see above.
    }
  };
}
