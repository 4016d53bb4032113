/** Measures the memory and CPU of the built server with ten idle workers. */
import type { Line } from './figures.ts';
import { measureAtRest } from './rigs.ts';

const workerCount = 10;
/** Pause in ms before the measurement, in which the server releases the memory of its start. */
const settleMs = 20_000;
const measureMs = 60_000;

export async function measureIdle(): Promise<readonly Line[]> {
  const { mib, share } = await measureAtRest(workerCount, settleMs, measureMs);
  return [
    { what: 'server with 10 idle workers: resident memory', figure: mib, unit: 'MiB', atMost: 90 },
    { what: '  CPU, share of one core', figure: 100 * share, unit: '%', atMost: 0.2 },
  ];
}
