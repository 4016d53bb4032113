import { readFileSync } from 'node:fs';
import { writeWhole } from './whole-file.ts';

/** Stores the head of the audit trail in its own file beside the database, readable only by its owner. */
export const openHeadFile = (file: string) => ({
  read(): string | null {
    try {
      return readFileSync(file, 'utf8');
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
      throw cause;
    }
  },
  write: (text: string): void => writeWhole(file, text),
});
