/** Heartbeats of a hundred workers as fast as they are answered, beside posts of the same server that do nothing, in alternation. */
import { type Line, median } from './figures.ts';
import { type Lane, openLane } from './lane.ts';
import { startServer } from './program.ts';
import { enrol, idleBeat } from './workers.ts';

const workers = 100;
const callsARound = 30_000;

async function paceOf(lanes: readonly Lane[], path: string, bodyOf: (n: number) => string): Promise<number> {
  const begun = performance.now();
  let left = callsARound;
  await Promise.all(
    lanes.map(async (lane, n) => {
      while (left-- > 0) {
        const { status, text } = await lane.call(path, bodyOf(n));
        if (status !== 200) throw new Error(`${path} was answered ${status}: ${text}`);
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
  const beats = (): Promise<number> => paceOf(lanes, '/api/workers/heartbeat', n => bodies[n] ?? '');
  const empty = (): Promise<number> => paceOf(lanes, '/api/workers/disconnect', () => '{}');
  const found: { readonly beat: number; readonly empty: number }[] = [];
  await beats();
  await empty();
  for (let round = 0; round < rounds; round += 1) found.push({ beat: await beats(), empty: await empty() });
  for (const lane of lanes) lane.close();
  await server.close();
  const beat = median(found.map(each => each.beat));
  const bare = median(found.map(each => each.empty));
  return [
    { what: 'heartbeats', figure: beat, unit: '/s' },
    { what: '  empty posts', figure: bare, unit: '/s' },
    { what: '  beside empty posts', figure: beat / bare, unit: 'x', atLeast: 0.5 },
  ];
}
