import { readFileSync } from 'node:fs';
import { writeWhole } from './whole-file.ts';

/** The head of the audit trail as a file of its own, beside the database, for its owner's eyes only. */
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
