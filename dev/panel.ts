import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer, type Server } from 'node:http';
import { join, relative, sep } from 'node:path';
import react from '@vitejs/plugin-react';
import { createServer, type Logger, type Plugin } from 'vite';
import { forward, isForServer } from './forward.ts';
import type { Voice } from './voices.ts';

export interface DevPanel {
  /** Without a slash at its end. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface PanelParts {
  readonly root: string;
  readonly port: number | null;
  readonly server: URL;
  readonly say: Voice;
}

const usualPort = 5173;

/**
 * Vite with the panel's sources, and the server behind the same address, as in the product. The whole checkout is its root,
 * because `/api` in the folder of the panel are modules, and of the server calls; of all that, sources alone are served.
 */
export async function startPanel({ root, port, server, say }: PanelParts): Promise<DevPanel> {
  const http = createHttpServer();
  const vite = await createServer({
    configFile: false,
    root,
    appType: 'custom',
    publicDir: false,
    clearScreen: false,
    customLogger: loggerOf(say),
    plugins: [react(), pageAtEveryAddress(root)],
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
  const bound = await listen(http, port);
  return {
    url: `http://localhost:${bound}`,
    async stop() {
      http.close();
      http.closeAllConnections();
      await vite.close();
    },
  };
}

/** Every address of a page is answered with the one page, which shows what the address says. */
const pageAtEveryAddress = (root: string): Plugin => ({
  name: 'page-at-every-address',
  configureServer: vite => () => {
    const pageFor = async (address: string | undefined): Promise<string> => {
      const text = await readFile(join(root, 'renderer/index.html'), 'utf8');
      const atTop = text.replaceAll('="./', '="/renderer/');
      return vite.transformIndexHtml('/renderer/index.html', atTop, address);
    };
    vite.middlewares.use((request, response, next) => {
      const wantsPage = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html');
      if (!wantsPage) return next();
      const headers = { 'content-type': 'text/html', 'cache-control': 'no-cache' };
      pageFor(request.originalUrl).then(html => response.writeHead(200, headers).end(html), next);
    });
  },
});

/** Of the whole checkout, what the page is made of: a folder is looked into only when it is not ignored itself. */
const isWatched = (root: string, path: string): boolean => {
  const [folder = ''] = relative(root, path).split(sep);
  return folder === '' || folder === 'renderer' || folder === 'protocol';
};

function loggerOf(say: Voice): Logger {
  const told = new Set<string>();
  return {
    hasWarned: false,
    info: text => say(text),
    warn: text => say(text),
    error: text => say(text),
    warnOnce(text) {
      if (!told.has(text)) say(text);
      told.add(text);
    },
    clearScreen: () => undefined,
    hasErrorLogged: () => false,
  };
}

/** Answers with the port. Fails as `listen` does. */
async function listen(http: Server, port: number | null): Promise<number> {
  if (port !== null) return listenAt(http, port);
  return listenAt(http, usualPort).catch(() => listenAt(http, 0));
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
