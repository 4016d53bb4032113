import { pause } from '../backoff.ts';
import type { Clock } from '../clock.ts';

/** The rate limit that all logs of a rig share. */
export interface LogPace {
  /** Resolves with true when the bytes may be sent, or with false when the signal fires first. */
  wait(bytes: number, signal: AbortSignal): Promise<boolean>;
}

const bytesPerS = 4 * 1024 * 1024;

export function createLogPace(clock: Clock): LogPace {
  let freeAt = 0;
  return {
    async wait(bytes, signal) {
      const now = clock.mono();
      const leftMs = Math.max(0, freeAt - now);
      freeAt = now + leftMs + (bytes / bytesPerS) * 1000;
      return leftMs === 0 ? !signal.aborted : pause(clock, leftMs, signal);
    },
  };
}
