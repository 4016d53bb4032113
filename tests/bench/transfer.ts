/**
 * Measures transfers of large files from a worker to the orchestrator and back, two files at a time. Rounds alternate with the
 * minimal program (`transfer-floor.ts`). During each transfer, another worker sends heartbeats. `BENCH_TRANSFER_MIB` sets the
 * size of a file in MiB; the default is 2048.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { alternate, type Line, percentile } from './figures.ts';
import { openConnection } from './http-connection.ts';
import {
  adminHeadersOf,
  type BenchProgram,
  createBenchFolder,
  root,
  startProgram,
  startServer,
} from './program.ts';
import type { TransferFile, TransferOrder } from './transfer-client.ts';
import { createWorkers, followOffers, type Identity, heartbeatBody, type Offer, report } from './workers.ts';

const fileCount = 2;
const mib = 1_048_576;
const fileMib = Number(process.env['BENCH_TRANSFER_MIB'] ?? 2_048);
const heartbeatIntervalMs = 20;
/** Number of heartbeats to measure without a transfer. */
const idleHeartbeats = 500;

export async function measureTransfer(rounds: number): Promise<readonly Line[]> {
  const folder = createBenchFolder();
  const floor = await startProgram(['tests/bench/transfer-floor.ts', folder], createBenchFolder());
  const server = await startServer();
  const [trainer, idleWorker] = await createWorkers(server, 2);
  if (trainer === undefined || idleWorker === undefined) throw new Error('The benchmark needs two workers.');
  const storage = await startAttempt(server, trainer);
  const sources: TransferFile[] = [];
  for (let n = 0; n < fileCount; n += 1) sources.push(await writeSource(folder, `source-${n}`));
  mkdirSync(join(folder, 'down'));
  const targets = sources.map(file => ({ ...file, path: join(folder, 'down', file.key) }));

  /** Latencies of heartbeats in ms. */
  const latencies = { idle: [] as number[], trainyard: [] as number[], floor: [] as number[] };
  /** Transfers the files while a worker sends heartbeats. Returns MiB per second. */
  const measureRate = async (order: TransferOrder, side: 'trainyard' | 'floor'): Promise<number> => {
    const transfer = new AbortController();
    const heartbeats = sendHeartbeatsUntil(server, idleWorker, transfer.signal, latencies[side]);
    try {
      return (fileCount * fileMib) / (await runClient(order));
    } finally {
      transfer.abort();
      await heartbeats;
    }
  };
  let uploads = 0;
  const upload = async (): Promise<number> => {
    // Remove the files of the last round, because a worker does not upload content that is already stored under its key.
    for (const { key } of sources) await removeArtifact(server, storage.jobId, key, uploads > 0);
    uploads += 1;
    return measureRate({ url: server.url, direction: 'up', storage, files: sources }, 'trainyard');
  };
  const download = (): Promise<number> =>
    measureRate({ url: server.url, direction: 'down', storage, files: targets }, 'trainyard');
  // The folder of the floor also contains the source files, so the transferred files get other names.
  const measureFloor = (direction: 'up' | 'down', files: readonly TransferFile[]): Promise<number> => {
    const floorFiles = files.map(file => ({ ...file, key: `on-${file.key}` }));
    return measureRate({ url: floor.url, direction, storage: null, files: floorFiles }, 'floor');
  };

  await sendHeartbeatsUntil(server, idleWorker, null, latencies.idle);
  const [up, floorUp] = await alternate(rounds, upload, () => measureFloor('up', sources));
  const [down, floorDown] = await alternate(rounds, download, () => measureFloor('down', targets));
  await server.close();
  await floor.close();
  rmSync(folder, { recursive: true });
  const idleP99 = percentile(latencies.idle, 0.99);
  const busyP99 = percentile(latencies.trainyard, 0.99);
  return [
    { what: 'worker to orchestrator, MiB', figure: up, unit: '/s' },
    { what: '  floor, MiB', figure: floorUp, unit: '/s' },
    { what: '  relative to the floor', figure: up / floorUp, unit: 'x', atLeast: 0.9 },
    { what: 'orchestrator to worker, MiB', figure: down, unit: '/s' },
    { what: '  floor, MiB', figure: floorDown, unit: '/s' },
    { what: '  relative to the floor', figure: down / floorDown, unit: 'x', atLeast: 0.9 },
    { what: 'heartbeats without a transfer: p99', figure: idleP99, unit: 'ms' },
    {
      what: 'heartbeats during a transfer of the floor: p99',
      figure: percentile(latencies.floor, 0.99),
      unit: 'ms',
    },
    { what: 'heartbeats during a transfer: p99', figure: busyP99, unit: 'ms' },
    { what: '  relative to no transfer', figure: busyP99 / idleP99, unit: 'x', atMost: 1.5 },
  ];
}

/** Submits a job and starts its attempt. Returns the credentials for uploading its files. */
async function startAttempt(server: BenchProgram, worker: Identity) {
  const firstOffer = Promise.withResolvers<Offer>();
  const stream = await followOffers(server, worker, firstOffer.resolve);
  const admin = openConnection(server.url, adminHeadersOf(server));
  await admin.call('/api/queue/submit', JSON.stringify({ config: {} }));
  const offer = await firstOffer.promise;
  const connection = openConnection(server.url, worker.headers);
  for (const status of ['starting', 'running']) await report(connection, offer, status);
  for (const client of [admin, connection, stream]) client.close();
  const { upload_token: token } = offer as Offer & { readonly upload_token: string };
  return { jobId: String(offer.job_id), endpoint: '/api/cloud/storage', token };
}

async function writeSource(folder: string, key: string): Promise<TransferFile> {
  const path = join(folder, key);
  const hash = createHash('sha256');
  const out = createWriteStream(path, { flush: true });
  for (let n = 0; n < fileMib; n += 1) {
    const block = randomBytes(mib);
    hash.update(block);
    if (!out.write(block)) await new Promise<void>(resolve => out.once('drain', resolve));
  }
  await new Promise<void>(resolve => out.end(resolve));
  return { key, path, bytes: fileMib * mib, sha256: hash.digest('hex') };
}

async function removeArtifact(
  server: BenchProgram,
  job: string,
  key: string,
  mustExist: boolean,
): Promise<void> {
  const url = new URL(`/api/queue/${job}/artifacts/${key}`, server.url);
  const response = await fetch(url, { method: 'DELETE', headers: adminHeadersOf(server) });
  if (mustExist && !response.ok) throw new Error(`Could not delete ${key}: ${await response.text()}`);
}

/** Runs the transfer client in a separate process. Returns the duration in seconds. */
async function runClient(order: TransferOrder): Promise<number> {
  const child = spawn(process.execPath, ['tests/bench/transfer-client.ts'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(order));
  const { seconds } = JSON.parse(await text(child.stdout)) as { readonly seconds: number };
  return seconds;
}

/** Sends heartbeats until the signal aborts, or `idleHeartbeats` without a signal. Adds their latencies in ms to `latencies`. */
async function sendHeartbeatsUntil(
  server: BenchProgram,
  worker: Identity,
  end: AbortSignal | null,
  latencies: number[],
): Promise<void> {
  const connection = openConnection(server.url, worker.headers);
  for (let n = 0; end === null ? n < idleHeartbeats : !end.aborted; n += 1) {
    const startedAt = performance.now();
    const { status } = await connection.call('/api/workers/heartbeat', heartbeatBody(worker));
    if (status !== 200) throw new Error(`A heartbeat returned ${status}.`);
    latencies.push(performance.now() - startedAt);
    await delay(heartbeatIntervalMs);
  }
  connection.close();
}
