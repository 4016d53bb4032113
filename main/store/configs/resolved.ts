import { realpath } from 'node:fs/promises';

/** Returns the real path, with links resolved; null when it does not exist. */
export const resolved = (path: string): Promise<string | null> => realpath(path).catch(() => null);
