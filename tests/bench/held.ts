/**
 * Ten thousand workers that do nothing: each has its stream, and beats as it was told, on a connection of its own that the server
 * has closed by the time of the next beat, as it does to agents. What that takes of the built server.
 */
import { setTimeout } from 'node:timers/promises';
import type { Line } from './figures.ts';
import { benchFolder, buildServer, startServer } from './program.ts';
import { createRig, openStreams, startBeating } from './rigs.ts';
import { enrol, register } from './workers.ts';

const workers = 10_000;
const settleMs = 10_000;
const heldMs = 40_000;

export async function measureHeld(): Promise<readonly Line[]> {
  const server = await startServer(benchFolder(), [], { program: buildServer() });
  const bareMib = server.memoryMib();
  const rigs = (await enrol(server, workers)).map(identity => createRig(server, identity));
  const [first] = rigs;
  if (first === undefined) throw new Error('there is no worker');
  const { heartbeat_interval_s } = await register(first.lane, first.identity);
  await openStreams(rigs);
  const beating = startBeating(rigs, heartbeat_interval_s);
  await setTimeout(settleMs);
  const [begun, cpu] = [performance.now(), server.cpuSeconds()];
  await setTimeout(heldMs);
  const share = (server.cpuSeconds() - cpu) / ((performance.now() - begun) / 1_000);
  const mib = server.memoryMib();
  const { sent, unanswered } = await beating.stop();
  const lost = rigs.filter(rig => !rig.isOpen()).length;
  for (const rig of rigs) rig.close();
  await server.close();
  return [
    { what: '10,000 workers held: resident', figure: mib, unit: 'MiB', atMost: 400 },
    { what: '  for each of them', figure: ((mib - bareMib) * 1_024) / workers, unit: 'KB' },
    { what: '  of one processor', figure: 100 * share, unit: '%', atMost: 10 },
    { what: `  every ${heartbeat_interval_s} s a beat each: sent`, figure: sent, unit: '' },
    { what: '  beats without an answer', figure: unanswered, unit: '', atMost: 0 },
    { what: '  streams lost', figure: lost, unit: '', atMost: 0 },
  ];
}
