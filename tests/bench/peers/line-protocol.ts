import { createInterface } from 'node:readline';
import { bullmq } from './bullmq.ts';
import { graphileWorker } from './graphile-worker.ts';
import { type Peer, addressVariable } from './peer.ts';
import { plainjob } from './plainjob.ts';
import { trainyard } from './trainyard.ts';

const peers: Readonly<Record<string, Peer>> = {
  trainyard,
  bullmq,
  'graphile-worker': graphileWorker,
  plainjob,
};

/** Reads the arguments and the environment of an adder or a worker. */
export function readArguments(): {
  readonly peer: Peer;
  readonly address: string;
  readonly concurrency: number;
} {
  const [name = '', concurrency] = process.argv.slice(2);
  const address = process.env[addressVariable] ?? '';
  const peer = peers[name];
  if (peer === undefined)
    throw new Error(`Unknown queue ${name}. Choose from ${Object.keys(peers).join(', ')}`);
  return { peer, address, concurrency: Number(concurrency) };
}

/**
 * Prints a line when the program is ready. Then responds to each line of JSON on stdin with one line of JSON on stdout,
 * until stdin ends.
 */
export async function serveLines(handle: (request: unknown) => Promise<unknown>): Promise<void> {
  console.log('{}');
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await handle(JSON.parse(line))));
  process.exit(0);
}

/** Milliseconds of the machine's monotonic clock, which all processes share. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
