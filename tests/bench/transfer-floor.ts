/**
 * `node tests/bench/transfer-floor.ts FOLDER`: a minimal program for durable transfers ("the floor"). It hashes, writes and syncs
 * the body of a PUT before it responds, and responds to a GET with the file from disk. It has no tokens, parts, quotas or
 * database.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { basename, join } from 'node:path';
import { pipeline } from 'node:stream/promises';

const folder = process.argv[2] ?? '.';
const blockBytes = 1_048_576;

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = join(folder, basename(request.url ?? ''));
  if (request.method === 'GET')
    return pipeline(createReadStream(path, { highWaterMark: blockBytes }), response);
  await rm(path, { force: true });
  const hash = createHash('sha256');
  request.on('data', (piece: Uint8Array) => hash.update(piece));
  // `flush` syncs the file before the stream closes.
  await pipeline(request, createWriteStream(path, { flush: true, highWaterMark: blockBytes }));
  response.end(hash.digest('hex'));
}

const server = createServer((request, response) => {
  handle(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('The floor has no address.');
  console.log(JSON.stringify({ ready: true, url: `http://127.0.0.1:${address.port}` }));
});
process.once('SIGINT', () => process.exit(0));
