import { mkdirSync } from 'node:fs';
import { createAuditBook } from './audit/book.ts';
import { createSeal } from './audit/chain.ts';
import type { ServerConfig } from './config.ts';
import { openDataFolder } from './host/data-folder.ts';
import { createHttpServer } from './http/server.ts';
import { createOrchestrator, type Orchestrator } from './orchestrator/index.ts';
import type { Clock, Ids, Log } from './orchestrator/ports.ts';
import { createConfigFiles } from './store/config-files.ts';
import { openSqliteStore } from './store/sqlite-store.ts';
import { version } from '../protocol/version.ts';

export interface Composed {
  readonly orchestrator: Orchestrator;
  readonly url: string;
  readonly adminTokenFile: string;
  readonly adminToken: string;
  /** Ends streams and calls, then closes the store. What workers run goes on. */
  close(): Promise<void>;
}

/** The composition root: every part is made here and nowhere else. Throws with a reason when it can't start. */
export async function compose(
  config: ServerConfig,
  parts: { readonly clock: Clock; readonly ids: Ids; readonly log: Log },
): Promise<Composed> {
  const { log } = parts;
  const folder = openDataFolder(config.dataDir);
  mkdirSync(config.configsDir, { recursive: true });
  const seal = createSeal(folder.auditKey);
  const store = openSqliteStore(folder.databaseFile, log, { seal });
  const configs = createConfigFiles(config.configsDir);
  const orchestrator = createOrchestrator({ ...parts, ...config, store, configs });
  const audit = createAuditBook(store.audit, seal);
  const http = createHttpServer({ orchestrator, audit, adminToken: folder.adminToken, log, version });
  try {
    orchestrator.start();
    const url = await http.listen(config.host, config.port);
    return {
      orchestrator,
      url,
      adminTokenFile: folder.adminTokenFile,
      adminToken: folder.adminToken,
      async close() {
        orchestrator.stop();
        await http.close();
        await store.close();
      },
    };
  } catch (cause) {
    orchestrator.stop();
    await store.close();
    throw cause;
  }
}
