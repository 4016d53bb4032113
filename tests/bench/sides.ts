import { join } from 'node:path';
import { type Headers, type Lane, openLane } from './lane.ts';
import { adminHeadersOf, type BenchProgram, benchFolder, startProgram, startServer } from './program.ts';
import { enrol, followOrders, type Identity, type Offer } from './workers.ts';

/** A server with connected workers: Trainyard, or the minimal program of comparison. */
export interface Side {
  readonly program: BenchProgram;
  /** The connections of clients that submit jobs. */
  readonly submitters: readonly Lane[];
  /** Called for each offer, with the connection of the worker that received it. */
  onOffer: (offer: Offer, worker: Lane) => void;
  close(): Promise<void>;
}

const submitterCount = 8;

async function connectSide(
  program: BenchProgram,
  submitsWith: Headers,
  identities: readonly Identity[],
): Promise<Side> {
  const open = (headers: Headers): Lane => openLane(program.url, headers);
  const submitters = Array.from({ length: submitterCount }, () => open(submitsWith));
  const workers = await Promise.all(
    identities.map(async identity => {
      const lane = open(identity.headers);
      const stream = await followOrders(program, identity, offer => side.onOffer(offer, lane));
      return { lane, stream };
    }),
  );
  const side: Side = {
    program,
    submitters,
    onOffer: () => {},
    async close() {
      for (const { lane, stream } of workers) {
        lane.close();
        stream.close();
      }
      for (const lane of submitters) lane.close();
      await program.close();
    },
  };
  return side;
}

export async function openOurs(workers: number): Promise<Side> {
  const program = await startServer();
  const identities = await enrol(program, workers);
  return connectSide(program, adminHeadersOf(program), identities);
}

export async function openFloor(workers: number): Promise<Side> {
  const folder = benchFolder();
  const program = await startProgram(['tests/bench/floor.ts', join(folder, 'floor.db')], folder);
  const identities = Array.from({ length: workers }, (_, n) => ({ id: `rig-${n}`, headers: {} }));
  return connectSide(program, {}, identities);
}
