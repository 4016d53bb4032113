/**
 * Transfers files in one direction, all at the same time, and prints the duration in seconds as JSON. Reads its `TransferOrder`
 * from stdin, because the order contains a token, and other users can see the arguments of a process.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { systemClock } from '../../agent/clock.ts';
import { downloadFile } from '../../agent/artifacts/download.ts';
import { fetchBy } from '../../agent/connection/http-fetch.ts';
import { openStorage } from '../../agent/artifacts/storage.ts';
import { createSender } from '../../agent/artifacts/output-sender.ts';

export interface TransferOrder {
  readonly url: string;
  readonly direction: 'up' | 'down';
  /** The storage of a running attempt; null for the minimal program (`transfer-floor.ts`). */
  readonly storage: { readonly endpoint: string; readonly token: string } | null;
  readonly files: readonly TransferFile[];
}

/** `path`: the source of an upload, or the target of a download. */
export interface TransferFile {
  readonly key: string;
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
}

const blockBytes = 1_048_576;

/** Uploads a file from disk as a worker does. */
async function sendAsWorker(order: TransferOrder, { key, path, bytes }: TransferFile): Promise<void> {
  const sender = createSender(new Map(), { ...workerDeps(order), pathOf: () => path });
  const { mtimeMs } = await stat(path);
  const files = [[key, { bytes, changedAt: mtimeMs }]] as const;
  const end = await sender.upload({
    name: key,
    kind: 'other',
    step: null,
    files,
    isFolder: false,
    mark: '',
  });
  if (end.kind !== 'uploaded') throw new Error(`the upload ended with ${JSON.stringify(end)}`);
}

async function fetchAsWorker(order: TransferOrder, file: TransferFile): Promise<void> {
  const end = await downloadFile(file.key, file.path, file, workerDeps(order));
  if (end.kind !== 'done') throw new Error(`the download ended with ${JSON.stringify(end)}`);
}

function workerDeps({ url, storage: credentials }: TransferOrder) {
  if (credentials === null) throw new Error('A worker needs the storage of an attempt.');
  const send = fetchBy((target, options, onResponse) => request(target, options, onResponse));
  const renew = () => Promise.resolve(null);
  const storage = openStorage(credentials, { url, send, clock: systemClock, renew });
  return { storage, clock: systemClock, random: Math.random, signal: new AbortController().signal };
}

async function sendToFloor(
  { url }: TransferOrder,
  { key, path, bytes, sha256 }: TransferFile,
): Promise<void> {
  const hash = createHash('sha256');
  const outgoing = request(`${url}/${key}`, { method: 'PUT', headers: { 'content-length': bytes } });
  const response = new Promise<IncomingMessage>((resolve, reject) =>
    outgoing.once('response', resolve).once('error', reject),
  );
  const source = createReadStream(path, { highWaterMark: blockBytes });
  source.on('data', piece => hash.update(piece));
  await pipeline(source, outgoing);
  let digest = '';
  for await (const piece of (await response).setEncoding('utf8')) digest += piece;
  if (digest !== sha256 || hash.digest('hex') !== sha256) throw new Error('The floor stored other content.');
}

async function fetchFromFloor({ url }: TransferOrder, { key, path, sha256 }: TransferFile): Promise<void> {
  const hash = createHash('sha256');
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request(`${url}/${key}`, resolve).once('error', reject).end(),
  );
  response.on('data', (piece: Uint8Array) => hash.update(piece));
  await pipeline(response, createWriteStream(path, { flush: true, highWaterMark: blockBytes }));
  if (hash.digest('hex') !== sha256) throw new Error('The floor sent other content.');
}

const stdin = 0;
const order = JSON.parse(readFileSync(stdin, 'utf8')) as TransferOrder;
const isUp = order.direction === 'up';
if (!isUp) for (const { path } of order.files) await rm(path, { force: true });
const toFloor = isUp ? sendToFloor : fetchFromFloor;
const toServer = isUp ? sendAsWorker : fetchAsWorker;
const transfer = order.storage === null ? toFloor : toServer;
const startedAt = performance.now();
await Promise.all(order.files.map(file => transfer(order, file)));
console.log(JSON.stringify({ seconds: (performance.now() - startedAt) / 1_000 }));
