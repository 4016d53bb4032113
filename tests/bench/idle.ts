/** Measures the built server with ten idle workerCount. */
import type { Line } from './figures.ts';
import { measureAtRest } from './rigs.ts';

const workerCount = 10;
/** Pause before the measurement: by then, the server has released the memory of its start. */
const settleMs = 20_000;
const measureMs = 60_000;

export async function measureIdle(): Promise<readonly Line[]> {
  const { mib, share } = await measureAtRest(workerCount, settleMs, measureMs);
  return [
    { what: 'server with 10 idle workers: resident memory', figure: mib, unit: 'MiB', atMost: 90 },
    { what: '  CPU, share of one core', figure: 100 * share, unit: '%', atMost: 0.2 },
  ];
}
