import { createServer } from 'node:http';
import { type AddressInfo, createServer as createRaw, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { StreamBody } from '../../../../agent/connection/http-fetch.ts';
import { openNetwork, usualTrust } from '../../../../agent/connection/network.ts';
import { piecesOf } from '../../../../protocol/client.ts';

/** Starts a server that echoes its requests. */
async function startEchoServer(): Promise<URL> {
  const server = createServer((request, response) => {
    response.setHeader('x-length', request.headers['content-length'] ?? 'none');
    response.writeHead(request.url === '/no' ? 404 : 200);
    text(request).then(
      body => response.end(`${request.method} ${body}`),
      () => undefined,
    );
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

/** Waits for this number of turns of the event loop. */
async function runEventLoop(times: number): Promise<void> {
  for (let turn = 0; turn < times; turn += 1) await new Promise(resolve => setImmediate(resolve));
}

/** The head of a response whose length is unknown. */
const chunkedHead = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';

/** Starts a server that calls `answer` for each connection on which a request has arrived. */
async function startRawServer(answer: (socket: Socket) => void): Promise<URL> {
  const server = createRaw(socket => {
    socket.on('error', () => {});
    socket.once('data', () => answer(socket));
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
  'sends the whole body of a %s call with its length',
  async method => {
    const answer = await openNetwork(usualTrust)(await startEchoServer(), { method, body: '机 {}' });
    expect([answer.status, answer.ok, answer.headers.get('X-Length')]).toEqual([200, true, '6']);
    expect(await answer.text()).toBe(`${method} 机 {}`);
  },
);

test('sends no body with a GET call', async () => {
  const url = await startEchoServer();
  const answer = await openNetwork(usualTrust)(new URL('/no', url), {});
  expect([answer.status, answer.ok, answer.headers.get('x-length')]).toEqual([404, false, 'none']);
  expect(answer.headers.get('x-other')).toBeNull();
});

test('rejects an aborted call before and during its response', async () => {
  const silent = createServer((request, response) => {
    if (request.url === '/partial') response.write('{');
  });
  await new Promise<void>(resolve => void silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void silent.close());
  onTestFinished(() => silent.closeAllConnections());
  const base = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const fetch = openNetwork(usualTrust);
  const abort = new AbortController();
  const unanswered = fetch(new URL(base), { signal: abort.signal });
  const partial = await fetch(new URL('/partial', base), { signal: abort.signal });
  const rest = partial.text();
  abort.abort();
  await expect(unanswered).rejects.toThrow('aborted');
  await expect(rest).rejects.toThrow('aborted');
});

test('delivers the data that arrived before a connection broke, and then the error', async () => {
  const broken = Promise.withResolvers<void>();
  const url = await startRawServer(socket => {
    socket.once('close', () => broken.resolve());
    socket.write(`${chunkedHead}5\r\nfirst\r\n6\r\nsecond\r\n`, () => socket.destroy());
  });
  const answer = await openNetwork(usualTrust)(url, {});
  await broken.promise;
  // The client receives the end of the connection in a later turn of the event loop.
  await runEventLoop(20);
  const texts: string[] = [];
  const readAll = async (): Promise<void> => {
    for await (const piece of piecesOf(answer.body ?? expect.unreachable()))
      texts.push(Buffer.from(piece).toString());
  };
  await expect(readAll()).rejects.toThrow('aborted');
  expect(texts.join('')).toBe('firstsecond');
});

test('applies backpressure to an unread response, and delivers the response completely', async () => {
  const size = 16 * 1_048_576;
  let written = 0;
  const url = await startRawServer(socket => {
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    const piece = Buffer.alloc(65_536, 1);
    const writeOn = (): void => {
      for (; written < size && socket.writableLength === 0; written += piece.length) socket.write(piece);
      if (written < size) socket.once('drain', writeOn);
    };
    writeOn();
  });
  const answer = await openNetwork(usualTrust)(url, {});
  await runEventLoop(200);
  expect(written).toBeLessThan(size);
  let read = 0;
  for await (const piece of piecesOf(answer.body ?? expect.unreachable())) read += piece.length;
  expect(read).toBe(size);
});

/** A body that is read in pieces. It counts the pieces that were read. */
function createStreamBody(content: string, pieceBytes = 4) {
  const bytes = Buffer.from(content);
  const read = { pieces: 0 };
  const body: StreamBody = {
    bytes: bytes.length,
    async *pieces() {
      for (let offset = 0; offset < bytes.length; offset += pieceBytes) {
        read.pieces += 1;
        yield bytes.subarray(offset, offset + pieceBytes);
      }
    },
  };
  return { body, read };
}

test.each(['', 'x', 'many pieces of it', 'y'.repeat(3_000_000)])(
  'sends a streamed body completely, with its length (case %#)',
  async content => {
    const { body } = createStreamBody(content, 65_536);
    const answer = await openNetwork(usualTrust)(await startEchoServer(), { method: 'PUT', body });
    expect(answer.headers.get('x-length')).toBe(String(content.length));
    expect(await answer.text()).toBe(`PUT ${content}`);
  },
);

test('does not read a streamed body when the server refuses the head of the request, and reconnects', async () => {
  const server = createServer((_request, response) => void response.end('welcome'));
  server.on('checkContinue', (_request, response) => {
    response.writeHead(413).end('too much');
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const fetch = openNetwork(usualTrust);
  const { body, read } = createStreamBody('x'.repeat(100));
  const answer = await fetch(url, { method: 'PUT', body });
  expect([answer.status, await answer.text(), read.pieces]).toEqual([413, 'too much', 0]);
  expect(await (await fetch(url, {})).text()).toBe('welcome');
});

test('sends a streamed body to a server without 100-continue, and fails when the body cannot be read', async () => {
  const url = await startRawServer(socket => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  });
  const answer = await openNetwork(usualTrust)(url, { method: 'PUT', body: createStreamBody('body').body });
  expect(await answer.text()).toBe('ok');
  const broken: StreamBody = {
    bytes: 8,
    async *pieces() {
      yield Buffer.from('half');
      throw new Error('it cannot be read');
    },
  };
  await expect(
    openNetwork(usualTrust)(await startEchoServer(), { method: 'PUT', body: broken }),
  ).rejects.toThrow('it cannot be read');
});
