import type { ServerConfig } from '../config.ts';
import type { Composed, Surroundings } from '../compose.ts';
import type { ScopedLog } from '../host/log.ts';
import { systemClock, systemIds } from '../host/system.ts';
import { findRunning } from './running.ts';

/** The orchestrator of this computer. */
export interface Own {
  readonly url: string;
  /** As of now: it changes when the file `admin-token` is replaced. */
  readonly token: string;
  /** Not ended with the app: somebody else has started it. */
  readonly isGuest: boolean;
  /** What happened to its database, and which backup is in its place; null for nothing. */
  readonly restored: string | null;
  awoken(): void;
  close(): Promise<void>;
}

export interface OwnParts {
  readonly config: ServerConfig;
  readonly log: ScopedLog;
  readonly agent: Surroundings['agent'];
  readonly onFatal: () => void;
}

/**
 * The one that runs on the data folder already, such as `trainyard server` as a service; else one inside of this process. What
 * that takes, SQLite among it, is loaded only then. Rejects with a reason.
 */
export async function openOwn(parts: OwnParts): Promise<Own> {
  const { config, log, agent, onFatal } = parts;
  const running = await findRunning(config.dataDir);
  if (running !== null)
    return { ...running, isGuest: true, restored: null, awoken() {}, close: async () => {} };
  const { compose } = await import('../compose.ts');
  const composed = await compose(config, { clock: systemClock, ids: systemIds, log, agent, onFatal });
  return {
    url: composed.url,
    get token() {
      return composed.adminToken();
    },
    isGuest: false,
    restored: restoredText(composed.restored),
    awoken: () => composed.awoken(),
    close: () => composed.close(),
  };
}

function restoredText(restored: Composed['restored']): string | null {
  if (restored === null) return null;
  const { damage, setAside, backup, backupAt } = restored;
  const kept = setAside === null ? '' : `\n${setAside}`;
  return `${damage}${kept}\n${backup} (${systemClock.iso(backupAt)})`;
}

/** Whether the port is what keeps it from starting. */
export const isPortTaken = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
