import { randomBytes } from 'node:crypto';
import express from 'express';
import type { Orchestrator } from '../orchestrator/index.ts';
import type { ConfigFolder, Log } from '../orchestrator/ports.ts';
import {
  type AuditReader,
  mountAuditRoutes,
  mountSystemRoutes,
  mountWorkerAdminRoutes,
} from './admin-routes.ts';
import { unexpected } from './answer.ts';
import { createAuth } from './auth.ts';
import { createListeners, type Listener } from './listeners.ts';
import { mountConfigRoutes } from './config-routes.ts';
import { mountQueueRoutes } from './queue-routes.ts';
import { createOneTimeCodes } from './one-time-codes.ts';
import { servePanel } from './panel.ts';
import { createRouter } from './route.ts';
import { mountSessionRoutes, signInPath } from './session-routes.ts';
import { mountSettingsRoutes, type SettingsDesk } from './settings-routes.ts';
import { createStreamRegistry } from './stream-registry.ts';
import { mountWorkerRoutes } from './worker-routes.ts';

export interface HttpParts {
  readonly orchestrator: Orchestrator;
  readonly audit: AuditReader;
  readonly settings: SettingsDesk;
  readonly configs: ConfigFolder;
  readonly adminToken: string;
  readonly log: Log;
  readonly version: string;
  /** Where the panel was built; null for none. */
  readonly panelDir: string | null;
  readonly mono: () => number;
}

export interface HttpServer {
  /** What signs a browser in, once: to be put behind the address. */
  signInPath(): string;
  /** Begins to take calls there, too. Fails as `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number): Promise<Listener>;
  /** Takes no more calls anywhere, ends streams, lets calls in progress finish for a moment. */
  close(): Promise<void>;
}

export function createHttpServer(parts: HttpParts): HttpServer {
  const { orchestrator, audit, settings, configs, adminToken, log, version, panelDir, mono } = parts;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use((_request, response, next) => {
    response.setHeader('X-Request-Id', randomBytes(8).toString('hex'));
    response.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });
  const { workerByTokenHash, sessionByHash } = orchestrator;
  const auth = createAuth({
    adminToken,
    workerByTokenHash,
    userOfSession: hash => sessionByHash(hash)?.user ?? null,
  });
  const router = createRouter(app, auth.authenticate);
  const codes = createOneTimeCodes(mono);
  const streams = createStreamRegistry();
  mountWorkerRoutes(router, orchestrator, streams);
  mountWorkerAdminRoutes(router, orchestrator, settings.joinUrl);
  mountQueueRoutes(router, orchestrator);
  mountConfigRoutes(router, orchestrator, configs);
  mountAuditRoutes(router, audit);
  mountSessionRoutes(router, { orchestrator, codes, userOfToken: auth.userOfToken, streams });
  mountSettingsRoutes(router, settings);
  mountSystemRoutes(router, orchestrator, streams, version);
  if (panelDir !== null) servePanel(app, panelDir);
  router.seal();
  app.use(unexpected(log));
  const listeners = createListeners(app, streams);
  return {
    signInPath: () => signInPath(codes.make('admin')),
    listen: listeners.listen,
    close: listeners.closeAll,
  };
}
