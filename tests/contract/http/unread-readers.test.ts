import { connect, type Socket } from 'node:net';
import express from 'express';
import { expect, onTestFinished, test } from 'vitest';
import type { EventStream } from '../../../main/http/listener/sse.ts';
import { createStreamRegistry } from '../../../main/http/listener/stream-registry.ts';

const budgetBytes = 200_000;

async function openStreams() {
  const registry = createStreamRegistry(budgetBytes);
  const streams: EventStream[] = [];
  const closedStreams = new Set<number>();
  let opened = Promise.withResolvers<void>();
  const server = express()
    .get('/', (_request, response) => {
      const index = streams.push(registry.open(response, { pingMs: 60_000 })) - 1;
      response.on('close', () => closedStreams.add(index));
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
  return { streams, closedStreams, open };
}

test('closes only the stream that is not read when buffered data exceeds the shared budget', async () => {
  const { streams, closedStreams, open } = await openStreams();
  const pausedSocket = await open();
  const readingSocket = await open();
  pausedSocket.pause();
  pausedSocket.on('error', () => {});
  let received = 0;
  readingSocket.on('data', (part: Uint8Array) => (received += part.length));
  const frame = 'x'.repeat(50_000);
  let sentFrames = 0;
  // The operating system buffers some megabytes per reader before the server has to buffer anything.
  while (closedStreams.size === 0 && sentFrames < 1_000) {
    for (const stream of streams) stream.send(frame);
    sentFrames += 1;
    await new Promise(resolve => setImmediate(resolve));
  }
  expect([...closedStreams]).toEqual([0]);
  await expect.poll(() => received).toBeGreaterThan(sentFrames * frame.length);
});
