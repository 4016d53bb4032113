import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A received request. `status`: the status of the answer; null for no answer. */
export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly status: number | null;
}

/** Creates a list whose growth tests can wait for. */
function createRecord<T>() {
  const items: T[] = [];
  const waiting = new Set<() => void>();
  return {
    all: items as readonly T[],
    add(item: T): void {
      items.push(item);
      for (const check of waiting) check();
    },
    /** Resolves with the list as soon as `enough` returns true for it. */
    until: (enough: (all: readonly T[]) => boolean): Promise<readonly T[]> =>
      new Promise(resolve => {
        const check = (): void => {
          if (!enough(items)) return;
          waiting.delete(check);
          resolve(items);
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Opens an HTTP server that records requests. `statusOf` returns the status for the n-th request, from 1; null for no answer. */
export async function openReceiver(
  statusOf: (count: number) => number | null,
  headers: Readonly<Record<string, string>> = {},
) {
  const record = createRecord<Received>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = statusOf(record.all.length + 1);
      const { url: path = '', method = '' } = request;
      if (status !== null) response.writeHead(status, headers).end('some text');
      record.add({ path, method, headers: request.headers, body: Buffer.concat(chunks), status });
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received: record.all,
    until: record.until,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Opens an SMTP server that records mails as text. */
export async function openMailServer(password: string) {
  const record = createRecord<string>();
  const server = new SMTPServer({
    allowInsecureAuth: true,
    disabledCommands: ['STARTTLS'],
    onAuth: (auth, _session, done) =>
      auth.password === password ? done(null, { user: auth.username }) : done(new Error('Invalid password')),
    onData(stream, _session, done) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        done();
        record.add(Buffer.concat(chunks).toString());
      });
    },
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
  return { port, mails: record.all, until: record.until, close: () => server.close(() => undefined) };
}
