import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { adminTokenOf, benchFolder, startServer } from '../program.ts';
import { enrol } from '../workers.ts';
import type { AddOrder, AddedMs } from './adder.ts';
import type { RedisPlace } from './bullmq.ts';
import type { PostgresPlace } from './graphile-worker.ts';
import { placeVariable } from './peer.ts';
import type { PlainjobPlace } from './plainjob.ts';
import { redisSocketOf, startPostgres, startRedis } from './servers.ts';
import { startLineProgram } from './talker.ts';
import type { TrainyardPlace } from './trainyard.ts';
import type { Worked, WorkOrder } from './worker.ts';

/** A queue under comparison, with one process that adds jobs and one that runs them. */
export interface System {
  readonly name: string;
  add(order: AddOrder): Promise<AddedMs>;
  work(order: WorkOrder): Promise<Worked>;
  close(): Promise<void>;
}

interface Ends {
  close(): Promise<void>;
}

/** Starts both processes. Closing the system also closes its server, even when the processes failed to start. */
async function connect(
  name: string,
  peer: string,
  place: object,
  atOnce: number,
  server: Ends,
): Promise<System> {
  const opened: Ends[] = [server];
  const close = async (): Promise<void> => {
    for (const each of opened.splice(0).toReversed()) await each.close();
  };
  try {
    const start = (program: string) =>
      startLineProgram([`tests/bench/peers/${program}.ts`, peer, String(atOnce)], {
        [placeVariable]: JSON.stringify(place),
      });
    const adder = await start('adder');
    opened.push(adder);
    const worker = await start('worker');
    opened.push(worker);
    return {
      name,
      add: async order => (await adder.ask(order)) as AddedMs,
      work: async order => (await worker.ask(order)) as Worked,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

export async function openTrainyard(atOnce: number): Promise<System> {
  const server = await startServer();
  const identities = await enrol(server, atOnce).catch(async (cause: unknown) => {
    await server.close();
    throw cause;
  });
  const place: TrainyardPlace = { url: server.url, adminToken: adminTokenOf(server), identities };
  return connect('Trainyard', 'trainyard', place, atOnce, server);
}

/** Returns null when Redis is not installed. */
export async function openBullMq(atOnce: number, packages: string): Promise<System | null> {
  const server = await startRedis();
  if (server === null) return null;
  const place: RedisPlace = { packages, socket: redisSocketOf(server.folder) };
  return connect('BullMQ', 'bullmq', place, atOnce, server);
}

/** Returns null when PostgreSQL is not installed. */
export async function openGraphileWorker(atOnce: number, packages: string): Promise<System | null> {
  const server = await startPostgres();
  if (server === null) return null;
  const place: PostgresPlace = { packages, host: server.folder };
  return connect('graphile-worker', 'graphile-worker', place, atOnce, server);
}

/** plainjob has no server. Its file is removed at the end. */
export async function openPlainjob(
  synchronous: PlainjobPlace['synchronous'],
  packages: string,
): Promise<System> {
  const folder = benchFolder();
  const place: PlainjobPlace = { packages, file: join(folder, 'queue.db'), synchronous };
  const close = async (): Promise<void> => rmSync(folder, { recursive: true, force: true });
  return connect(`plainjob, ${synchronous}`, 'plainjob', place, 1, { close });
}
