import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import express, { type RequestHandler } from 'express';
import type { Fetch } from '../../protocol/client.ts';
import { servePanel } from '../http/routes/panel.ts';
import { type RemoteFleet, forward } from './forward.ts';
import { openNetwork, parseTrust } from '../../agent/connection/network.ts';

interface FleetAddress {
  /** URL without a slash at the end. */
  readonly url: string;
  /** Sends requests, and verifies the identity of the server. */
  readonly fetch: Fetch;
}

type Parsed =
  | { readonly ok: true; readonly value: FleetAddress }
  | { readonly ok: false; readonly detail: string };

/** Parses the address of a remote orchestrator. `pin` has the same form as in the worker's option `--pin`. */
export function parseFleetAddress(input: { readonly url: string; readonly pin: string | null }): Parsed {
  const url = URL.canParse(input.url) ? new URL(input.url) : null;
  const isPlain = url?.username === '' && url.password === '' && url.search === '' && url.hash === '';
  if (url === null || !isPlain || !/^https?:$/.test(url.protocol))
    return {
      ok: false,
      detail: `"${input.url.slice(0, 100)}" is not the address of an orchestrator: give one like https://HOST:8001`,
    };
  const address = url.origin + url.pathname.replace(/\/+$/, '');
  const trust = parseTrust(address, { pin: input.pin ?? undefined, caFile: null, verify: true });
  if (!trust.ok) return { ok: false, detail: trust.message };
  return { ok: true, value: { url: address, fetch: openNetwork(trust.value) } };
}

export type { RemoteFleet };

export interface Gateway {
  readonly origin: string;
  /** Bearer token that every call needs, because other users of this computer can reach the port. New at each start. */
  readonly bearer: string;
  close(): void;
}

export interface GatewayDeps {
  /** Folder of the built panel. */
  readonly panelDir: string;
  /**
   * Preferred port; 0 for any free port. If the port is in use, the gateway uses another one. The page stores its preferences per
   * origin, so the port should stay the same.
   */
  readonly port: number;
  /** Returns the fleet that receives the calls; null for none. */
  readonly fleet: () => RemoteFleet | null;
}

const loopback = '127.0.0.1';

/**
 * Serves the app's own panel and forwards calls and streams to a remote orchestrator. Never serves pages of the remote server.
 * Listens on the loopback address only.
 */
export async function createGateway(deps: GatewayDeps): Promise<Gateway> {
  const bearer = randomBytes(32).toString('base64url');
  let host = '';
  const server = createServer(listenerFor(deps, bearer, () => host));
  const port = await listen(server, deps.port).catch(() => listen(server, 0));
  host = `${loopback}:${port}`;
  return {
    origin: `http://${host}`,
    bearer,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function listenerFor({ panelDir, fleet }: GatewayDeps, bearer: string, host: () => string): RequestListener {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(requireBearer(bearer, host));
  servePanel(app, panelDir);
  app.use(async (request, response) => {
    const shown = fleet();
    if (!isCall(request.path)) response.status(404).end();
    else if (shown === null) response.destroy();
    else await forward(shown, request, response);
  });
  return app;
}

const isCall = (path: string): boolean => /^\/(?:api|health)(?:\/|$)|^\/openapi\.json$/.test(path);

function requireBearer(bearer: string, host: () => string): RequestHandler {
  const expected = hashOf(`Bearer ${bearer}`);
  return (request, response, next) => {
    response.setHeader('X-Content-Type-Options', 'nosniff');
    response.setHeader('X-Frame-Options', 'DENY');
    response.setHeader('Referrer-Policy', 'no-referrer');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    const isKnown = timingSafeEqual(hashOf(request.headers.authorization ?? ''), expected);
    if (request.headers.host !== host()) response.status(421).end();
    else if (!isKnown) response.status(401).end();
    else next();
  };
}

const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

function listen(server: ReturnType<typeof createServer>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, loopback, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
