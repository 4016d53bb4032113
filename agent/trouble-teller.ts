import type { CallFailure } from '../protocol/client.ts';
import type { Clock } from './clock.ts';
import { troubleOf } from './troubles.ts';

export interface TroubleTeller {
  tell(failure: CallFailure): void;
  missedBeat(failure: CallFailure, timeoutMs: number): void;
  beaten(): void;
  clear(): void;
}

const atMost = 20;

/** Says each trouble once, until something has worked again. */
export function createTroubleTeller(
  clock: Clock,
  url: string,
  say: (message: string) => void,
): TroubleTeller {
  const told = new Set<string>();
  let beatenAt = clock.mono();
  const once = (message: string): void => {
    if (told.has(message)) return;
    // Some answers of proxies are never the same twice.
    if (told.size >= atMost) told.clear();
    told.add(message);
    say(message);
  };
  const tell = (failure: CallFailure): void => {
    const { message } = troubleOf(failure, url);
    once(failure.kind === 'unreachable' ? `${message}. Trying again` : message);
  };
  return {
    tell,
    missedBeat(failure, timeoutMs) {
      if (clock.mono() - beatenAt < timeoutMs) return tell(failure);
      const seconds = Math.round(timeoutMs / 1000);
      once(
        `Heartbeat timeout (${seconds}s): the orchestrator counts this worker as offline by now. Check the network; on an ` +
          'unreliable one, raise SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator',
      );
    },
    beaten() {
      beatenAt = clock.mono();
      told.clear();
    },
    clear: () => told.clear(),
  };
}
