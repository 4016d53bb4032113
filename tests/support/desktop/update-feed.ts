import { createReadStream, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';

/** A web server that offers a new version of the app to the updater. */
export interface UpdateFeed {
  readonly url: string;
  /** Returns the number of AppImage bytes that the server has sent. */
  readonly bytesSent: () => number;
  /** Edits the description of the new version in later answers. With null, the server answers all requests with 503. */
  change(edit: ((text: string) => string) | null): void;
  close(): void;
}

const description = 'latest-linux.yml';

/** Serves the files of `folder`, including files that are added later. */
export async function openUpdateFeed(folder: string): Promise<UpdateFeed> {
  let edit: ((text: string) => string) | null = text => text;
  let sent = 0;
  const send = (path: string, request: IncomingMessage, response: ServerResponse): void => {
    const { size } = statSync(path);
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const [start, end] = from === undefined ? [0, size - 1] : [Number(from), Number(to)];
    response.writeHead(from === undefined ? 200 : 206, {
      'content-length': end - start + 1,
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end}/${size}` }),
    });
    if (path.endsWith('.AppImage')) sent += end - start + 1;
    createReadStream(path, { start, end }).pipe(response);
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://feed');
    const name = pathname.slice(1);
    try {
      if (edit === null) response.writeHead(503).end();
      else if (name === description) response.end(edit(readFileSync(join(folder, name), 'utf8')));
      else if (/^[\w.-]+$/.test(name)) send(join(folder, name), request, response);
      else response.writeHead(404).end();
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    bytesSent: () => sent,
    change: next => void (edit = next),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
