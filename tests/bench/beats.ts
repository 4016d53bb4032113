/**
 * Measures the heartbeats of a hundred workers at full speed. For comparison, alternate rounds make a GET call for which the
 * server has almost nothing to do.
 */
import { alternate, type Line } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { startServer } from './program.ts';
import { createWorkers, heartbeatBody } from './workers.ts';

const workerCount = 100;
const callsPerRound = 30_000;

/** Returns the path and the body of the call for the worker with this index. */
type CallOf = (index: number) => readonly [path: string, body: string | null];

async function measureCallsPerSecond(
  connections: readonly HttpConnection[],
  callOf: CallOf,
): Promise<number> {
  const startedAt = performance.now();
  let remainingCalls = callsPerRound;
  await Promise.all(
    connections.map(async (connection, index) => {
      while (remainingCalls > 0) {
        remainingCalls -= 1;
        const { status, text } = await connection.call(...callOf(index));
        if (status !== 200) throw new Error(`The call of worker ${index} returned ${status}: ${text}`);
      }
    }),
  );
  return callsPerRound / ((performance.now() - startedAt) / 1_000);
}

export async function measureHeartbeats(rounds: number): Promise<readonly Line[]> {
  const server = await startServer();
  const identities = await createWorkers(server, workerCount);
  const bodies = identities.map(heartbeatBody);
  const connections = identities.map(({ headers }) => openConnection(server.url, headers));
  const [heartbeats, emptyCalls] = await alternate(
    rounds,
    () => measureCallsPerSecond(connections, index => ['/api/workers/heartbeat', bodies[index] ?? '']),
    () =>
      measureCallsPerSecond(connections, index => [
        `/api/workers/queue?worker_id=${identities[index]?.id}`,
        null,
      ]),
  );
  for (const connection of connections) connection.close();
  await server.close();
  return [
    { what: 'heartbeats', figure: heartbeats, unit: '/s' },
    { what: '  empty calls', figure: emptyCalls, unit: '/s' },
    { what: '  relative to empty calls', figure: heartbeats / emptyCalls, unit: 'x', atLeast: 0.5 },
  ];
}
