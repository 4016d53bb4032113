/**
 * Measures large files from a worker to the orchestrator and back, two at a time, in alternate rounds with the minimal
 * program (`transfer-floor.ts`). Meanwhile, a worker sends heartbeats. `BENCH_TRANSFER_MIB` sets the size of a file;
 * its default is 2048.
 */
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { alternate, type Line, percentile } from './figures.ts';
import { openLane } from './lane.ts';
import {
  adminHeadersOf,
  type BenchProgram,
  benchFolder,
  root,
  startProgram,
  startServer,
} from './program.ts';
import type { TransferFile, TransferOrder } from './transfer-client.ts';
import { enrol, followOrders, type Identity, heartbeatBody, type Offer, report } from './workers.ts';

const filesAtOnce = 2;
const mib = 1_048_576;
const fileMib = Number(process.env['BENCH_TRANSFER_MIB'] ?? 2_048);
const beatEveryMs = 20;
const idleBeats = 500;

export async function measureTransfer(rounds: number): Promise<readonly Line[]> {
  const folder = benchFolder();
  const floor = await startProgram(['tests/bench/transfer-floor.ts', folder], benchFolder());
  const server = await startServer();
  const [trainer, idler] = await enrol(server, 2);
  if (trainer === undefined || idler === undefined) throw new Error('The benchmark needs two workers.');
  const storage = await startAttempt(server, trainer);
  const sources: TransferFile[] = [];
  for (let n = 0; n < filesAtOnce; n += 1) sources.push(await writeSource(folder, `source-${n}`));
  mkdirSync(join(folder, 'down'));
  const targets = sources.map(file => ({ ...file, path: join(folder, 'down', file.key) }));

  const rate = async (order: TransferOrder): Promise<number> =>
    (filesAtOnce * fileMib) / (await runClient(order));
  const beats: number[] = [];
  const beatsBesideFloor: number[] = [];
  const withBeats =
    (order: TransferOrder, latencies = beats) =>
    async (): Promise<number> => {
      const transfer = new AbortController();
      const beating = sendHeartbeatsUntil(server, idler, transfer.signal, latencies);
      try {
        return await rate(order);
      } finally {
        transfer.abort();
        await beating;
      }
    };
  // Use a new key for each upload: content that is already stored under its key would not be sent again.
  let uploads = 0;
  const upload = async (): Promise<number> => {
    for (const { key } of sources) await removeArtifact(server, storage.jobId, key, uploads > 0);
    uploads += 1;
    return withBeats({ url: server.url, direction: 'up', storage, files: sources })();
  };
  const toFloor = (direction: 'up' | 'down', files: readonly TransferFile[]) => (): Promise<number> =>
    withBeats({ url: floor.url, direction, storage: null, files }, beatsBesideFloor)();
  const floorFiles = (files: readonly TransferFile[]) =>
    files.map(file => ({ ...file, key: `on-${file.key}` }));

  const idle: number[] = [];
  await sendHeartbeatsUntil(server, idler, null, idle);
  const [up, floorUp] = await alternate(rounds, upload, toFloor('up', floorFiles(sources)));
  const [down, floorDown] = await alternate(
    rounds,
    withBeats({ url: server.url, direction: 'down', storage, files: targets }),
    toFloor('down', floorFiles(targets)),
  );
  await server.close();
  await floor.close();
  rmSync(folder, { recursive: true });
  const idleP99 = percentile(idle, 0.99);
  const busyP99 = percentile(beats, 0.99);
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
      figure: percentile(beatsBesideFloor, 0.99),
      unit: 'ms',
    },
    { what: 'heartbeats during a transfer: p99', figure: busyP99, unit: 'ms' },
    { what: '  relative to no transfer', figure: busyP99 / idleP99, unit: 'x', atMost: 1.5 },
  ];
}

/** A running attempt, and the token for its files. */
async function startAttempt(server: BenchProgram, worker: Identity) {
  const offered = Promise.withResolvers<Offer>();
  const stream = await followOrders(server, worker, offered.resolve);
  const admin = openLane(server.url, adminHeadersOf(server));
  await admin.call('/api/queue/submit', JSON.stringify({ config: {} }));
  const offer = await offered.promise;
  const lane = openLane(server.url, worker.headers);
  for (const status of ['starting', 'running']) await report(lane, offer, status);
  for (const each of [admin, lane, stream]) each.close();
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
  isThere: boolean,
): Promise<void> {
  const url = new URL(`/api/queue/${job}/artifacts/${key}`, server.url);
  const answer = await fetch(url, { method: 'DELETE', headers: adminHeadersOf(server) });
  if (isThere && !answer.ok) throw new Error(`Could not delete ${key}: ${await answer.text()}`);
}

/** Runs the client in a process of its own. Returns the duration in seconds. */
async function runClient(order: TransferOrder): Promise<number> {
  const child = spawn(process.execPath, ['tests/bench/transfer-client.ts'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(order));
  const { seconds } = JSON.parse(await text(child.stdout)) as { readonly seconds: number };
  return seconds;
}

/**
 * Sends heartbeats and adds the latency of each one in ms, until the signal fires; without a signal, a fixed number of
 * them.
 */
async function sendHeartbeatsUntil(
  server: BenchProgram,
  worker: Identity,
  end: AbortSignal | null,
  latencies: number[],
): Promise<void> {
  const lane = openLane(server.url, worker.headers);
  for (let n = 0; end === null ? n < idleBeats : !end.aborted; n += 1) {
    const startedAt = performance.now();
    const { status } = await lane.call('/api/workers/heartbeat', heartbeatBody(worker));
    if (status !== 200) throw new Error(`A heartbeat returned ${status}.`);
    latencies.push(performance.now() - startedAt);
    await delay(beatEveryMs);
  }
  lane.close();
}
