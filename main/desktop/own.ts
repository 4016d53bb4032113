import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemApi } from '../../protocol/admin-api.ts';
import { createClient } from '../../protocol/client.ts';
import type { ServerConfig } from '../config.ts';
import type { Composed } from '../compose.ts';
import type { ComposeDeps } from '../compose/deps.ts';
import type { ScopedLog } from '../host/log.ts';
import { systemClock, systemIds } from '../host/system.ts';
import { readSecret } from '../host/data-folder.ts';
import { challenge } from '../server-proof.ts';

/**
 * Finds the server that uses the data folder; null when there is none or it cannot prove its identity. If the server has died and
 * another program uses its port, that program fails the proof.
 *
 * @internal
 */
export async function findRunning(
  dataDir: string,
): Promise<{ readonly url: string; readonly token: string } | null> {
  const [urlFile, tokenFile] = [join(dataDir, 'url'), join(dataDir, 'admin-token')];
  if (!existsSync(urlFile) || !existsSync(tokenFile)) return null;
  // Other users must not be able to write the file, because the token is sent to the URL in it.
  const url = readSecret(urlFile);
  if (!/^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?$/.test(url)) return null;
  const token = readSecret(tokenFile);
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs: 2_000 });
  if (!(await client.call(systemApi.live)).ok) return null;
  try {
    await challenge({ url, dataDir, fetch });
    return { url, token };
  } catch {
    return null;
  }
}

/** The orchestrator of this computer. */
export interface OwnOrchestrator {
  readonly url: string;
  /** The current token; it changes when the file `admin-token` is replaced. */
  readonly token: string;
  /** True if another program started the orchestrator, which then keeps running when the app quits. */
  readonly isGuest: boolean;
  /** Describes the damage to the database and the backup that replaced it; null for no damage. */
  readonly restored: string | null;
  noteWake(): void;
  close(): Promise<void>;
}

export interface OwnOrchestratorDeps {
  readonly config: ServerConfig;
  readonly log: ScopedLog;
  readonly agent: ComposeDeps['agent'];
  readonly onFatal: () => void;
}

/**
 * Connects to the orchestrator that already runs on the data folder, such as a `trainyard server` service. Otherwise starts one
 * in this process, and loads its modules, including SQLite, only then. Rejects with a reason.
 */
export async function openOwnOrchestrator(deps: OwnOrchestratorDeps): Promise<OwnOrchestrator> {
  const { config, log, agent, onFatal } = deps;
  const running = await findRunning(config.dataDir);
  if (running !== null)
    return { ...running, isGuest: true, restored: null, noteWake() {}, close: async () => {} };
  const { compose } = await import('../compose.ts');
  const composed = await compose(config, { clock: systemClock, ids: systemIds, log, agent, onFatal });
  return {
    url: composed.url,
    get token() {
      return composed.adminToken();
    },
    isGuest: false,
    restored: restoredText(composed.restored),
    noteWake: () => composed.noteWake(),
    close: () => composed.close(),
  };
}

function restoredText(restored: Composed['restored']): string | null {
  if (restored === null) return null;
  const { damage, setAside, backup, backupAt } = restored;
  const setAsideLine = setAside === null ? '' : `\n${setAside}`;
  return `${damage}${setAsideLine}\n${backup} (${systemClock.iso(backupAt)})`;
}

/** Returns true if the start failed because the port is in use. */
export const isPortTaken = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
