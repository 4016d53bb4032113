import { connect, type Socket } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import type { EventStream } from '../../../main/http/listener/sse.ts';
import { createStreamRegistry } from '../../../main/http/listener/stream-registry.ts';

const budgetBytes = 200_000;

async function openStreams() {
  const registry = createStreamRegistry(budgetBytes);
  const streams: EventStream[] = [];
  const gone = new Set<number>();
  let opened = Promise.withResolvers<void>();
  const server = express()
    .get('/', (_request, response) => {
      const index = streams.push(registry.open(response, { pingMs: 60_000 })) - 1;
      response.on('close', () => gone.add(index));
      opened.resolve();
    })
    .listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const open = async (): Promise<Socket> => {
    opened = Promise.withResolvers();
    const socket = connect(port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await opened.promise;
    return socket;
  };
  return { streams, gone, open };
}

test('closes only the stream that is not read when the shared budget is exceeded', async () => {
  const { streams, gone, open } = await openStreams();
  const deaf = await open();
  const reading = await open();
  deaf.pause();
  deaf.on('error', () => {});
  let received = 0;
  reading.on('data', (part: Uint8Array) => (received += part.length));
  const frame = 'x'.repeat(50_000);
  let sent = 0;
  // The operating system buffers some megabytes for each reader before the server has to.
  while (gone.size === 0 && sent < 1_000) {
    for (const stream of streams) stream.send(frame);
    sent += 1;
    await new Promise(resolve => setImmediate(resolve));
  }
  expect([...gone]).toEqual([0]);
  await expect.poll(() => received).toBeGreaterThan(sent * frame.length);
});
