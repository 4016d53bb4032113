import type { CallFailure } from '../protocol/client.ts';
import type { Clock } from './clock.ts';
import { troubleOf } from './troubles.ts';

export interface TroubleTeller {
  tell(failure: CallFailure): void;
  missedBeat(failure: CallFailure, timeoutMs: number): void;
  /** A stream was answered with this status instead of being opened. */
  streamRefused(status: number): void;
  /** The orchestrator has said that it goes: that nobody answers is no trouble for as long as T. */
  expectAbsence(reason: string, timeoutMs: number): void;
  beaten(): void;
  clear(): void;
  connected(): void;
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
  let quietUntil = 0;
  let streamStatus: number | null = null;
  const isQuiet = (): boolean => clock.mono() < quietUntil;
  const once = (message: string): void => {
    if (told.has(message)) return;
    // Some answers of proxies are never the same twice.
    if (told.size >= atMost) told.clear();
    told.add(message);
    say(message);
  };
  const tell = (failure: CallFailure): void => {
    if (isQuiet()) return;
    const { message } = troubleOf(failure, url);
    once(failure.kind === 'unreachable' ? `${message}. Trying again` : message);
  };
  return {
    tell,
    missedBeat(failure, timeoutMs) {
      if (isQuiet()) return;
      if (clock.mono() - beatenAt < timeoutMs) return tell(failure);
      const seconds = Math.round(timeoutMs / 1000);
      once(
        `Heartbeat timeout (${seconds}s): the orchestrator counts this worker as offline by now. Check the network; on an ` +
          'unreliable one, raise SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator',
      );
    },
    streamRefused(status) {
      // A 401 is told by the registration that follows it; a registration that works says nothing of the stream.
      if (status === 401 || status === streamStatus || isQuiet()) return;
      streamStatus = status;
      say(
        `${url} answered ${status} when this worker asked for its commands: no job can reach it. Check the orchestrator, ` +
          'and any proxy in between. Trying again',
      );
    },
    expectAbsence(reason, timeoutMs) {
      quietUntil = clock.mono() + timeoutMs;
      say(
        `The orchestrator stops on purpose (${reason}): a training goes on, and this worker connects again when it is back`,
      );
    },
    beaten() {
      beatenAt = clock.mono();
      told.clear();
    },
    clear: () => told.clear(),
    connected() {
      streamStatus = null;
      quietUntil = 0;
    },
  };
}
