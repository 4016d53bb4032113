import { readFile } from 'node:fs/promises';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  request as sendRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { join, relative, sep } from 'node:path';
import { pipeline } from 'node:stream';
import react from '@vitejs/plugin-react';
import { createServer, type Logger, type Plugin } from 'vite';
import type { Print } from './program.ts';

/** Returns true if the server, not Vite, answers requests for this path. */
const isForServer = (path: string): boolean => /^\/(?:api|health|docs|openapi\.json)(?:[/?]|$)/.test(path);

/**
 * Forwards a request unchanged, with the browser's Host and Origin, so that the server's origin check works as in
 * production. Streams the response back, including event streams.
 */
function forward(target: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const { hostname, port } = target;
  const outgoing = sendRequest(
    { hostname, port, method, path: url, headers: { ...headers, connection: 'close' }, agent: false },
    reply => {
      // Drop these two headers, because they concern only the connection to the server.
      const { connection: _connection, 'keep-alive': _keepAlive, ...otherHeaders } = reply.headers;
      response.writeHead(reply.statusCode ?? 502, otherHeaders);
      response.flushHeaders();
      pipeline(reply, response, () => undefined);
    },
  );
  outgoing.on('error', () => {
    // The server is restarting, or ended during a response.
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('The server does not answer\n');
  });
  response.on('close', () => outgoing.destroy());
  request.pipe(outgoing);
}

export interface DevPanel {
  /** URL of the page, without a trailing slash. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface PanelDeps {
  readonly root: string;
  readonly port: number | null;
  readonly server: URL;
  readonly log: Print;
}

const defaultPort = 5173;

/**
 * Serves the panel's sources with Vite, and forwards other requests to the server, so that both have one origin as in
 * production. Vite's root is the whole checkout: with `renderer/` as the root, `/api` would be ambiguous, because
 * panel modules and server calls have such paths. Vite serves only source files.
 */
export async function startPanel({ root, port, server, log }: PanelDeps): Promise<DevPanel> {
  const http = createHttpServer();
  const vite = await createServer({
    configFile: false,
    root,
    appType: 'custom',
    publicDir: false,
    clearScreen: false,
    customLogger: loggerOf(log),
    plugins: [react(), pageAtEveryUrl(root)],
    optimizeDeps: { entries: ['renderer/main.tsx'] },
    server: {
      middlewareMode: true,
      ws: { server: http },
      watch: { ignored: (path: string) => !isWatched(root, path) },
      fs: { allow: ['renderer', 'protocol', 'node_modules'].map(folder => join(root, folder)) },
    },
  });
  http.on('request', (request, response) => {
    if (isForServer(request.url ?? '')) forward(server, request, response);
    else vite.middlewares(request, response);
  });
  const actualPort = await listen(http, port);
  return {
    url: `http://localhost:${actualPort}`,
    async stop() {
      http.close();
      http.closeAllConnections();
      await vite.close();
    },
  };
}

/** Returns the same document for every page URL. The panel then renders the page for that URL. */
const pageAtEveryUrl = (root: string): Plugin => ({
  name: 'page-at-every-address',
  configureServer: vite => () => {
    const pageFor = async (address: string | undefined): Promise<string> => {
      const text = await readFile(join(root, 'renderer/index.html'), 'utf8');
      const withAbsolutePaths = text.replaceAll('="./', '="/renderer/');
      return vite.transformIndexHtml('/renderer/index.html', withAbsolutePaths, address);
    };
    vite.middlewares.use((request, response, next) => {
      const wantsPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
      if (!wantsPage) return next();
      const headers = { 'content-type': 'text/html', 'cache-control': 'no-cache' };
      pageFor(request.originalUrl).then(html => response.writeHead(200, headers).end(html), next);
    });
  },
});

/** Returns true for paths that Vite must watch: the folders that the page uses, and the root. */
const isWatched = (root: string, path: string): boolean => {
  const [folder = ''] = relative(root, path).split(sep);
  return folder === '' || folder === 'renderer' || folder === 'protocol';
};

function loggerOf(log: Print): Logger {
  const warned = new Set<string>();
  return {
    hasWarned: false,
    info: text => log(text),
    warn: text => log(text),
    error: text => log(text),
    warnOnce(text) {
      if (!warned.has(text)) log(text);
      warned.add(text);
    },
    clearScreen: () => undefined,
    hasErrorLogged: () => false,
  };
}

/** Listens on a port, by default 5173 or any free port. Resolves with the port; rejects with the error of Node's `listen`. */
async function listen(http: Server, port: number | null): Promise<number> {
  if (port !== null) return listenAt(http, port);
  return listenAt(http, defaultPort).catch(() => listenAt(http, 0));
}

const listenAt = (http: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, 'localhost', () => {
      http.removeListener('error', reject);
      const address = http.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
