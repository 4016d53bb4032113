/**
 * Resets five thousand streams at the same time. All workers reconnect immediately, without the pause of real agents. The server
 * itself measures the delay of its event loop every 10 ms.
 */
import { setTimeout } from 'node:timers/promises';
import { type Line, percentile } from './figures.ts';
import { type BenchProgram, createBenchFolder, countInLog, readFrom, startServer } from './program.ts';
import { createRig, openStreams, type Rig } from './rigs.ts';
import { createWorkers, register } from './workers.ts';

const workerCount = 5_000;
const retryMs = 200;

interface Reconnect {
  /** Time in ms from the reset until the worker has its stream again. */
  readonly afterMs: number;
  readonly tries: number;
}

async function reconnect(rig: Rig, cutAt: number): Promise<Reconnect> {
  for (let tries = 1; ; tries += 1) {
    try {
      await register(rig.connection, rig.identity);
      await rig.openStream();
      return { afterMs: performance.now() - cutAt, tries };
    } catch {
      await setTimeout(retryMs);
    }
  }
}

/** Reads `/metrics`. The figures of the event loop cover the time since the previous read. */
async function readMetrics(server: BenchProgram): Promise<(name: string) => number> {
  const lines = (await readFrom(server, '/metrics')).split('\n').map(line => line.split(' '));
  return name => Number(lines.find(([first]) => first === name)?.[1]);
}

const lagName = (part: 'p99' | 'max'): string => `nodejs_eventloop_lag_${part}_seconds`;

export async function measureStorm(): Promise<readonly Line[]> {
  const server = await startServer(createBenchFolder(), []);
  const rigs = (await createWorkers(server, workerCount)).map(identity => createRig(server, identity));
  await openStreams(rigs);
  await setTimeout(1_000);
  // Start the period of the event loop figures.
  await readMetrics(server);
  const cutAt = performance.now();
  for (const rig of rigs) rig.cut();
  const reconnects = await Promise.all(rigs.map(rig => reconnect(rig, cutAt)));
  const figure = await readMetrics(server);
  await setTimeout(1_000);
  const offline = countInLog(server, '"worker.offline"');
  const lost = rigs.filter(rig => !rig.isOpen()).length;
  for (const rig of rigs) rig.close();
  await server.close();
  const times = reconnects.map(({ afterMs }) => afterMs);
  return [
    {
      what: '5,000 streams cut at once: all reconnected',
      figure: percentile(times, 1) / 1_000,
      unit: 's',
      atMost: 10,
    },
    { what: '  half reconnected', figure: percentile(times, 0.5) / 1_000, unit: 's' },
    {
      what: '  failed reconnects',
      figure: reconnects.reduce((sum, { tries }) => sum + tries - 1, 0),
      unit: '',
    },
    { what: '  streams lost again', figure: lost, unit: '', atMost: 0 },
    { what: '  workers wrongly marked offline', figure: offline, unit: '', atMost: 0 },
    {
      what: "  server's event loop delay: p99",
      figure: 1_000 * figure(lagName('p99')),
      unit: 'ms',
      atMost: 200,
    },
    { what: "  server's event loop delay: max", figure: 1_000 * figure(lagName('max')), unit: 'ms' },
  ];
}
