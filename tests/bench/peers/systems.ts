import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { adminTokenOf, createBenchFolder, startServer } from '../program.ts';
import { createWorkers } from '../workers.ts';
import type { AddRequest, AddedMs } from './adder.ts';
import type { RedisAddress } from './bullmq.ts';
import type { PostgresAddress } from './graphile-worker.ts';
import { addressVariable } from './peer.ts';
import type { PlainjobAddress } from './plainjob.ts';
import { redisSocketOf, startPostgres, startRedis } from './servers.ts';
import { startLineProgram } from './line-program.ts';
import type { TrainyardAddress } from './trainyard.ts';
import type { WorkResult, WorkRequest } from './worker.ts';

/** A queue under comparison, with a process that adds jobs and a process that runs them. */
export interface System {
  readonly name: string;
  add(request: AddRequest): Promise<AddedMs>;
  work(request: WorkRequest): Promise<WorkResult>;
  close(): Promise<void>;
}

interface Closable {
  close(): Promise<void>;
}

/**
 * Starts the process that adds jobs and the process that runs them. Closes `server` with the system, and also when a process
 * fails to start.
 */
async function connect(
  name: string,
  peer: string,
  address: object,
  concurrency: number,
  server: Closable,
): Promise<System> {
  const programs: Closable[] = [server];
  const close = async (): Promise<void> => {
    for (const program of programs.splice(0).toReversed()) await program.close();
  };
  try {
    const start = (program: string) =>
      startLineProgram([`tests/bench/peers/${program}.ts`, peer, String(concurrency)], {
        [addressVariable]: JSON.stringify(address),
      });
    const adder = await start('adder');
    programs.push(adder);
    const worker = await start('worker');
    programs.push(worker);
    return {
      name,
      add: async request => (await adder.request(request)) as AddedMs,
      work: async request => (await worker.request(request)) as WorkResult,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

export async function openTrainyard(concurrency: number): Promise<System> {
  const server = await startServer();
  const identities = await createWorkers(server, concurrency).catch(async (cause: unknown) => {
    await server.close();
    throw cause;
  });
  const address: TrainyardAddress = { url: server.url, adminToken: adminTokenOf(server), identities };
  return connect('Trainyard', 'trainyard', address, concurrency, server);
}

/** Returns null when Redis is not installed. */
export async function openBullMq(concurrency: number, packages: string): Promise<System | null> {
  const server = await startRedis();
  if (server === null) return null;
  const address: RedisAddress = { packages, socket: redisSocketOf(server.folder) };
  return connect('BullMQ', 'bullmq', address, concurrency, server);
}

/** Returns null when PostgreSQL is not installed. */
export async function openGraphileWorker(concurrency: number, packages: string): Promise<System | null> {
  const server = await startPostgres();
  if (server === null) return null;
  const address: PostgresAddress = { packages, host: server.folder };
  return connect('graphile-worker', 'graphile-worker', address, concurrency, server);
}

/** plainjob has no server. Closing the system deletes the folder of its file. */
export async function openPlainjob(
  synchronous: PlainjobAddress['synchronous'],
  packages: string,
): Promise<System> {
  const folder = createBenchFolder();
  const address: PlainjobAddress = { packages, file: join(folder, 'queue.db'), synchronous };
  const close = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
  return connect(`plainjob, ${synchronous}`, 'plainjob', address, 1, { close });
}
