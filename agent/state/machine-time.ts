import { readFileSync } from 'node:fs';

/**
 * ms since this machine started, on a clock that all its processes share and that cannot be set. On Linux, it includes
 * sleep (CLOCK_BOOTTIME), because other machines did not sleep meanwhile.
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
