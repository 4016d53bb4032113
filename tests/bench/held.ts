/**
 * Measures the memory and CPU that the built server needs for ten thousand idle workers, with their streams and heartbeats. Each
 * heartbeat uses a new connection, because the server closes the idle connection of the previous heartbeat.
 */
import type { Line } from './figures.ts';
import { measureAtRest } from './rigs.ts';

const workerCount = 10_000;
/** Pause between the connection of the last worker and the measurement. */
const settleMs = 10_000;
const measureMs = 40_000;

export async function measureHeld(): Promise<readonly Line[]> {
  const { initialMib, mib, share, intervalS, sent, unanswered, lost } = await measureAtRest(
    workerCount,
    settleMs,
    measureMs,
  );
  return [
    { what: '10,000 connected workers: resident memory', figure: mib, unit: 'MiB', atMost: 400 },
    { what: '  per worker', figure: ((mib - initialMib) * 1_024) / workerCount, unit: 'KB' },
    { what: '  CPU, share of one core', figure: 100 * share, unit: '%', atMost: 10 },
    { what: `  heartbeats sent, one per worker every ${intervalS} s`, figure: sent, unit: '' },
    { what: '  heartbeats without a response', figure: unanswered, unit: '', atMost: 0 },
    { what: '  streams lost', figure: lost, unit: '', atMost: 0 },
  ];
}
