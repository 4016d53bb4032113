/** The built server with ten workers that do nothing. */
import { setTimeout } from 'node:timers/promises';
import type { Line } from './figures.ts';
import { benchFolder, buildServer, startServer } from './program.ts';
import { createRig, openStreams, startBeating } from './rigs.ts';
import { enrol, register } from './workers.ts';

const workers = 10;
const settleMs = 5_000;
const idleMs = 60_000;

export async function measureIdle(): Promise<readonly Line[]> {
  const server = await startServer(benchFolder(), [], { program: buildServer() });
  const rigs = (await enrol(server, workers)).map(identity => createRig(server, identity));
  const [first] = rigs;
  if (first === undefined) throw new Error('there is no worker');
  const { heartbeat_interval_s } = await register(first.lane, first.identity);
  await openStreams(rigs);
  const beating = startBeating(rigs, heartbeat_interval_s);
  await setTimeout(settleMs);
  const [begun, cpu] = [performance.now(), server.cpuSeconds()];
  await setTimeout(idleMs);
  const share = (server.cpuSeconds() - cpu) / ((performance.now() - begun) / 1_000);
  const mib = server.memoryMib();
  await beating.stop();
  for (const rig of rigs) rig.close();
  await server.close();
  return [
    { what: 'server with 10 idle workers: resident', figure: mib, unit: 'MiB', atMost: 90 },
    { what: '  of one processor', figure: 100 * share, unit: '%', atMost: 0.2 },
  ];
}
