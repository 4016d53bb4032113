import { createInterface } from 'node:readline';
import { bullmq } from './bullmq.ts';
import { graphileWorker } from './graphile-worker.ts';
import { type Peer, placeVariable } from './peer.ts';
import { trainyard } from './trainyard.ts';

const peers: Readonly<Record<string, Peer>> = { trainyard, bullmq, 'graphile-worker': graphileWorker };

/** The arguments and the environment of the two programs. */
export function readStart(): { readonly peer: Peer; readonly place: string; readonly atOnce: number } {
  const [name = '', atOnce] = process.argv.slice(2);
  const place = process.env[placeVariable] ?? '';
  const peer = peers[name];
  if (peer === undefined)
    throw new Error(`Unknown queue ${name}. Choose from ${Object.keys(peers).join(', ')}`);
  return { peer, place, atOnce: Number(atOnce) };
}

/** Prints a line when it is ready. Then answers each JSON question on stdin with one line on stdout. Ends with stdin. */
export async function answerLines(answer: (question: unknown) => Promise<unknown>): Promise<void> {
  console.log('{}');
  for await (const line of createInterface({ input: process.stdin }))
    console.log(JSON.stringify(await answer(JSON.parse(line))));
  process.exit(0);
}

/** The machine's monotonic clock: all processes share it. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;
