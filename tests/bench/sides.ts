import { join } from 'node:path';
import { type Headers, type HttpConnection, openConnection } from './http-connection.ts';
import {
  adminHeadersOf,
  type BenchProgram,
  createBenchFolder,
  startProgram,
  startServer,
} from './program.ts';
import { createWorkers, followOffers, type Identity, type Offer } from './workers.ts';

/** A server with connected workers: Trainyard, or the minimal program for comparison (`floor.ts`). */
export interface Side {
  readonly program: BenchProgram;
  /** The connections of clients that submit jobs. */
  readonly submitters: readonly HttpConnection[];
  /** Called for each offer, with the connection of the worker that received it. */
  onOffer: (offer: Offer, worker: HttpConnection) => void;
  close(): Promise<void>;
}

const submitterCount = 8;

async function connectSide(
  program: BenchProgram,
  submitterHeaders: Headers,
  identities: readonly Identity[],
): Promise<Side> {
  const open = (headers: Headers): HttpConnection => openConnection(program.url, headers);
  const submitters = Array.from({ length: submitterCount }, () => open(submitterHeaders));
  const workers = await Promise.all(
    identities.map(async identity => {
      const connection = open(identity.headers);
      const stream = await followOffers(program, identity, offer => side.onOffer(offer, connection));
      return { connection, stream };
    }),
  );
  const side: Side = {
    program,
    submitters,
    onOffer: () => {},
    async close() {
      for (const { connection, stream } of workers) {
        connection.close();
        stream.close();
      }
      for (const connection of submitters) connection.close();
      await program.close();
    },
  };
  return side;
}

export async function openTrainyard(workers: number): Promise<Side> {
  const program = await startServer();
  const identities = await createWorkers(program, workers);
  return connectSide(program, adminHeadersOf(program), identities);
}

export async function openFloor(workers: number): Promise<Side> {
  const folder = createBenchFolder();
  const program = await startProgram(['tests/bench/floor.ts', join(folder, 'floor.db')], folder);
  const identities = Array.from({ length: workers }, (_, n) => ({ id: `rig-${n}`, headers: {} }));
  return connectSide(program, {}, identities);
}
