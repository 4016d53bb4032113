/**
 * Measures reads of the queue with 50,000 jobs that ended within the last day, relative to the same call with 500 jobs.
 * The two servers alternate. Meanwhile the server's thread does nothing else, so all other calls wait as long.
 */
import { fillLargeFleet } from '../support/large-fleet.ts';
import { alternate, type Line } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { adminHeadersOf, type BenchProgram, benchFolder, buildServer, startServer } from './program.ts';

const many = 50_000;
const few = 500;
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
  readonly lane: Lane;
}

async function openSide(ended: number, program: string): Promise<Side> {
  const folder = benchFolder();
  const everyMs = Math.floor((0.9 * dayMs) / ended);
  await fillLargeFleet(folder, { workers: 100, pending: 100, running: 50, ended, everyMs });
  const server = await startServer(folder, undefined, { program });
  return { server, lane: openLane(server.url, adminHeadersOf(server)) };
}

async function time({ lane }: Side, path: string): Promise<number> {
  const begun = performance.now();
  for (let call = 0; call < callsPerRound; call += 1) {
    const answer = await lane.call(path, null);
    if (answer.status !== 200) throw new Error(`${path} returned ${answer.status}: ${answer.text}`);
  }
  return (performance.now() - begun) / callsPerRound;
}

export async function measureReads(rounds: number): Promise<readonly Line[]> {
  const program = buildServer();
  const large = await openSide(many, program);
  const small = await openSide(few, program);
  const lines: Line[] = [];
  for (const { what, path, atMostMs } of calls) {
    const [one, other] = await alternate(
      rounds,
      () => time(large, path),
      () => time(small, path),
    );
    lines.push(
      { what: `${what}, ${many} jobs`, figure: one, unit: 'ms', atMost: atMostMs },
      { what: `  with ${few} jobs`, figure: other, unit: 'ms' },
      { what: '  ratio', figure: one / other, unit: 'x' },
    );
  }
  for (const { server, lane } of [large, small]) {
    lane.close();
    await server.close();
  }
  return lines;
}
