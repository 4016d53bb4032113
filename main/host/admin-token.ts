import type { Clock, Log } from '../orchestrator/ports/index.ts';
import { type DataFolder, readAdminToken } from './data-folder.ts';

export interface AdminToken {
  /** The token that is valid now. */
  now(): string;
  /** Its SHA-256, computed once because every request needs it. */
  hash(): Buffer;
  /** Starts to read the file again. */
  follow(): void;
  stop(): void;
}

export interface AdminTokenOptions {
  readonly folder: Pick<DataFolder, 'adminToken' | 'adminTokenFile'>;
  readonly hashOf: (token: string) => Buffer;
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Runs after each replacement. */
  readonly onReplaced: () => void;
}

const checkEveryMs = 1_000;

/**
 * Reads the file once a second, so that a replaced token stops without a restart. Reading finds every change; `fs.watch`
 * misses some on network drives, and a file time can stay the same. A file that cannot be used changes nothing: otherwise
 * a mistake would lock the owner out.
 */
export function createAdminToken({ folder, hashOf, clock, log, onReplaced }: AdminTokenOptions): AdminToken {
  let token = folder.adminToken;
  let hash = hashOf(token);
  let isRefused = false;
  let cancel = (): void => {};
  const read = (): string => {
    try {
      const found = readAdminToken(folder.adminTokenFile);
      isRefused = false;
      return found;
    } catch (cause) {
      if (!isRefused)
        log.warn('admin_token.not_read', { cause, note: 'the previous admin token stays valid' });
      isRefused = true;
      return token;
    }
  };
  const check = (): void => {
    follow();
    const found = read();
    if (found === token) return;
    token = found;
    hash = hashOf(token);
    log.info('admin_token.replaced', { note: 'sessions and streams of the previous admin token end' });
    onReplaced();
  };
  const follow = (): void => {
    cancel = clock.after(checkEveryMs, check);
  };
  return { now: () => token, hash: () => hash, follow, stop: () => cancel() };
}
