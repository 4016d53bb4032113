import { readFileSync } from 'node:fs';

/** The agent's source of time, as an interface so that tests can run a fleet of agents on virtual time. */
export interface Clock {
  /** Returns ms since a fixed moment. The value never decreases, even when the wall clock is changed. */
  mono(): number;
  /** Calls `run` once after `ms`. Returns a function that cancels the call. */
  after(ms: number, run: () => void): () => void;
}

/** Longer delays overflow in Node, and the timer would fire immediately. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  mono: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(0, Math.ceil(ms)), maxDelayMs));
    return () => clearTimeout(timer);
  },
};

/**
 * Returns the ms since this machine started, on a clock that all its processes share and that cannot be set. On Linux,
 * the clock continues while the machine sleeps (CLOCK_BOOTTIME), because time also passes on the other machines.
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
