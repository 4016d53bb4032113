/** Measures the built server with ten idle workers. */
import type { Line } from './figures.ts';
import { watchAtRest } from './rigs.ts';

const workers = 10;
/** Pause before the measurement: by then, the server has released the memory of its start. */
const settleMs = 20_000;
const idleMs = 60_000;

export async function measureIdle(): Promise<readonly Line[]> {
  const { mib, share } = await watchAtRest(workers, settleMs, idleMs);
  return [
    { what: 'server with 10 idle workers: resident memory', figure: mib, unit: 'MiB', atMost: 90 },
    { what: '  CPU, share of one core', figure: 100 * share, unit: '%', atMost: 0.2 },
  ];
}
