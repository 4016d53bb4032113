/**
 * Measures reads of the queue on two servers, with 50,000 and with 500 jobs that ended within the last day, and their ratio. The
 * two servers alternate. While the single thread of a server handles such a read, all other calls wait.
 */
import { fillLargeFleet } from '../support/large-fleet.ts';
import { alternate, type Line } from './figures.ts';
import { type HttpConnection, openConnection } from './http-connection.ts';
import { adminHeadersOf, type BenchProgram, createBenchFolder, buildServer, startServer } from './program.ts';

const largeCount = 50_000;
const smallCount = 500;
const dayMs = 86_400_000;
const callsPerRound = 10;

const calls = [
  { what: 'queue statistics', path: '/api/queue/stats', atMostMs: 50 },
  {
    what: 'search for eight terms without a match',
    path: `/api/queue?include_completed=true&q=${['sdxl', 'lora', '1', '2', 'a', 'e', 'i', 'xyz'].join('+')}`,
    atMostMs: 50,
  },
] as const;

interface Side {
  readonly server: BenchProgram;
  readonly connection: HttpConnection;
}

async function openSide(ended: number, program: string): Promise<Side> {
  const folder = createBenchFolder();
  const everyMs = Math.floor((0.9 * dayMs) / ended);
  await fillLargeFleet(folder, { workers: 100, pending: 100, running: 50, ended, everyMs });
  const server = await startServer(folder, undefined, { program });
  return { server, connection: openConnection(server.url, adminHeadersOf(server)) };
}

/** Returns the mean duration of a call in ms. */
async function measureCall({ connection }: Side, path: string): Promise<number> {
  const startedAt = performance.now();
  for (let call = 0; call < callsPerRound; call += 1) {
    const { status, text } = await connection.call(path, null);
    if (status !== 200) throw new Error(`${path} returned ${status}: ${text}`);
  }
  return (performance.now() - startedAt) / callsPerRound;
}

export async function measureReads(rounds: number): Promise<readonly Line[]> {
  const program = buildServer();
  const large = await openSide(largeCount, program);
  const small = await openSide(smallCount, program);
  const lines: Line[] = [];
  for (const { what, path, atMostMs } of calls) {
    const [largeMs, smallMs] = await alternate(
      rounds,
      () => measureCall(large, path),
      () => measureCall(small, path),
    );
    lines.push(
      { what: `${what}, ${largeCount} jobs`, figure: largeMs, unit: 'ms', atMost: atMostMs },
      { what: `  with ${smallCount} jobs`, figure: smallMs, unit: 'ms' },
      { what: '  ratio', figure: largeMs / smallMs, unit: 'x' },
    );
  }
  for (const { server, connection } of [large, small]) {
    connection.close();
    await server.close();
  }
  return lines;
}
