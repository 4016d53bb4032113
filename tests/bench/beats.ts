/**
 * Measures the heartbeats of a hundred workers at full speed. For comparison, every second round makes empty calls: the
 * server reads, writes and decides nothing for them, so they cost less than a POST without a body.
 */
import { alternate, type Line } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { startServer } from './program.ts';
import { enrol, heartbeatBody } from './workers.ts';

const workers = 100;
const callsPerRound = 30_000;

/** Returns path and body of the call that the worker with this number makes. */
type CallOf = (n: number) => readonly [path: string, body: string | null];

async function callsPerSecond(lanes: readonly Lane[], callOf: CallOf): Promise<number> {
  const startedAt = performance.now();
  let left = callsPerRound;
  await Promise.all(
    lanes.map(async (lane, n) => {
      while (left-- > 0) {
        const { status, text } = await lane.call(...callOf(n));
        if (status !== 200) throw new Error(`The call of worker ${n} returned ${status}: ${text}`);
      }
    }),
  );
  return callsPerRound / ((performance.now() - startedAt) / 1_000);
}

export async function measureHeartbeats(rounds: number): Promise<readonly Line[]> {
  const server = await startServer();
  const identities = await enrol(server, workers);
  const bodies = identities.map(heartbeatBody);
  const lanes = identities.map(({ headers }) => openLane(server.url, headers));
  const beats = (): Promise<number> =>
    callsPerSecond(lanes, n => ['/api/workers/heartbeat', bodies[n] ?? '']);
  const empty = (): Promise<number> =>
    callsPerSecond(lanes, n => [`/api/workers/queue?worker_id=${identities[n]?.id}`, null]);
  const [heartbeats, emptyCalls] = await alternate(rounds, beats, empty);
  for (const lane of lanes) lane.close();
  await server.close();
  return [
    { what: 'heartbeats', figure: heartbeats, unit: '/s' },
    { what: '  empty calls', figure: emptyCalls, unit: '/s' },
    { what: '  relative to empty calls', figure: heartbeats / emptyCalls, unit: 'x', atLeast: 0.5 },
  ];
}
