import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Orchestrator } from '../orchestrator/index.ts';
import type { Log } from '../orchestrator/ports.ts';
import {
  type AuditReader,
  mountAuditRoutes,
  mountSystemRoutes,
  mountWorkerAdminRoutes,
} from './admin-routes.ts';
import { unexpected } from './answer.ts';
import { createAuth } from './auth.ts';
import { mountQueueRoutes } from './queue-routes.ts';
import { createOneTimeCodes } from './one-time-codes.ts';
import { servePanel } from './panel.ts';
import { createRouter } from './route.ts';
import { mountSessionRoutes, signInPath } from './session-routes.ts';
import { createStreamRegistry } from './stream-registry.ts';
import { mountWorkerRoutes } from './worker-routes.ts';

export interface HttpParts {
  readonly orchestrator: Orchestrator;
  readonly audit: AuditReader;
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
  /** Begins to take calls; answers with the address. Fails as `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number): Promise<string>;
  /** Takes no more calls, ends streams, lets calls in progress finish for a moment. */
  close(): Promise<void>;
}

const closeWithinMs = 1_000;

export function createHttpServer(parts: HttpParts): HttpServer {
  const { orchestrator, audit, adminToken, log, version, panelDir, mono } = parts;
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
  mountWorkerAdminRoutes(router, orchestrator);
  mountQueueRoutes(router, orchestrator);
  mountAuditRoutes(router, audit);
  mountSessionRoutes(router, { orchestrator, codes, userOfToken: auth.userOfToken });
  mountSystemRoutes(router, orchestrator, streams, version);
  if (panelDir !== null) servePanel(app, panelDir);
  router.seal();
  app.use(unexpected(log));
  const server = createServer(app);
  return {
    signInPath: () => signInPath(codes.make('admin')),
    listen: (host, port) => listen(server, host, port),
    async close() {
      streams.endAll();
      const closed = new Promise<void>(resolve => server.close(() => resolve()));
      const timer = setTimeout(() => server.closeAllConnections(), closeWithinMs);
      server.closeIdleConnections();
      await closed;
      clearTimeout(timer);
    },
  };
}

function listen(server: Server, host: string, port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.removeListener('error', reject);
      resolve(urlOf(server.address()));
    });
  });
}

function urlOf(bound: AddressInfo | string | null): string {
  if (bound === null || typeof bound === 'string')
    throw new Error('the server listens on no network address');
  const { address, family, port } = bound;
  // One that listens everywhere listens here, too: an address that a client can use.
  if (address === '0.0.0.0' || address === '::') return `http://127.0.0.1:${port}`;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
