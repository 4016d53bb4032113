import { type IncomingMessage, request as ask, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream';

/** What the server answers, and the panel does not. */
export const isForServer = (path: string): boolean =>
  /^\/(?:api|health|docs|openapi\.json)(?:[/?]|$)/.test(path);

/**
 * Hands a call on as it came, with the Host and the Origin of the browser: the server's own check of who calls sees what it
 * would see without this. What it answers is passed on as it comes, a stream too.
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
    // It is being started anew, or has ended in mid-answer.
    if (response.headersSent) response.destroy();
    else response.writeHead(502, { 'content-type': 'text/plain' }).end('The server does not answer\n');
  });
  response.on('close', () => asked.destroy());
  request.pipe(asked);
}
