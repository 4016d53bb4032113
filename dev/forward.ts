import { type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';

/** Returns true for paths that the server answers instead of the panel. */
export const isForServer = (path: string): boolean =>
  /^\/(?:api|health|docs|openapi\.json)(?:[/?]|$)/.test(path);

/**
 * Forwards a request unchanged, with the browser's Host and Origin. The server's origin check therefore works as in production. The
 * response is streamed back, event streams included.
 */
export function forward(target: URL, request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = request;
  const { hostname, port } = target;
  const asked = ask(
    { hostname, port, method, path: url, headers: { ...headers, connection: 'close' }, agent: false },
    answer => {
      const { connection: _hop, 'keep-alive': _other, ...others } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, others);
      response.flushHeaders();
      pipeline(answer, response, () => undefined);
    },
  );
  asked.on('error', () => {
    // The server is restarting, or ended in the middle of a response.
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('The server does not answer\n');
  });
  response.on('close', () => asked.destroy());
  request.pipe(asked);
}
