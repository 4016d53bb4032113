/**
 * Heartbeats of a hundred workers as fast as they are answered, beside calls of the same workers for which nothing is read, written or
 * decided, in alternation: less than a post without a body would be.
 */
import { inTurns, type Line } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { startServer } from './program.ts';
import { enrol, idleBeat } from './workers.ts';

const workers = 100;
const callsARound = 30_000;

/** What the worker with this number calls, and with which body. */
type CallOf = (n: number) => readonly [path: string, body: string | null];

async function paceOf(lanes: readonly Lane[], callOf: CallOf): Promise<number> {
  const begun = performance.now();
  let left = callsARound;
  await Promise.all(
    lanes.map(async (lane, n) => {
      while (left-- > 0) {
        const { status, text } = await lane.call(...callOf(n));
        if (status !== 200) throw new Error(`worker ${n} was answered ${status}: ${text}`);
      }
    }),
  );
  return callsARound / ((performance.now() - begun) / 1_000);
}

export async function measureBeats(rounds: number): Promise<readonly Line[]> {
  const server = await startServer();
  const identities = await enrol(server, workers);
  const bodies = identities.map(idleBeat);
  const lanes = identities.map(({ headers }) => openLane(server.url, headers));
  const beats = (): Promise<number> => paceOf(lanes, n => ['/api/workers/heartbeat', bodies[n] ?? '']);
  const empty = (): Promise<number> =>
    paceOf(lanes, n => [`/api/workers/queue?worker_id=${identities[n]?.id}`, null]);
  const [beat, bare] = await inTurns(rounds, beats, empty);
  for (const lane of lanes) lane.close();
  await server.close();
  return [
    { what: 'heartbeats', figure: beat, unit: '/s' },
    { what: '  empty calls', figure: bare, unit: '/s' },
    { what: '  beside empty calls', figure: beat / bare, unit: 'x', atLeast: 0.5 },
  ];
}
