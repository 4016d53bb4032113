/**
 * Measures heartbeats of a hundred workers at full speed. Rounds alternate with calls of the same workers that read,
 * write and decide nothing, and thus cost even less than a POST without a body.
 */
import { inTurns, type Line } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { startServer } from './program.ts';
import { enrol, idleBeat } from './workers.ts';

const workers = 100;
const callsARound = 30_000;

/** Returns path and body of the call that the worker with this number makes. */
type CallOf = (n: number) => readonly [path: string, body: string | null];

async function paceOf(lanes: readonly Lane[], callOf: CallOf): Promise<number> {
  const begun = performance.now();
  let left = callsARound;
  await Promise.all(
    lanes.map(async (lane, n) => {
      while (left-- > 0) {
        const { status, text } = await lane.call(...callOf(n));
        if (status !== 200) throw new Error(`The call of worker ${n} returned ${status}: ${text}`);
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
    { what: '  relative to empty calls', figure: beat / bare, unit: 'x', atLeast: 0.5 },
  ];
}
