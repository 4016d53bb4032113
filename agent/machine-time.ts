import { readFileSync } from 'node:fs';

/**
 * ms on a clock that all processes of this machine share and that nobody sets: since its start, and on Linux also while
 * it slept (CLOCK_BOOTTIME), because others did not sleep meanwhile.
 */
export function machineUptime(): number {
  try {
    const [seconds = ''] = readFileSync('/proc/uptime', 'utf8').split(' ');
    if (/^\d+\.\d+$/.test(seconds)) return Number(seconds) * 1000;
  } catch {
    // Not Linux.
  }
  return Number(process.hrtime.bigint() / 1_000_000n);
}
