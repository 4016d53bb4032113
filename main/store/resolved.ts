import { realpath } from 'node:fs/promises';

/** A path without links; null when nothing is there. */
export const resolved = (path: string): Promise<string | null> => realpath(path).catch(() => null);
