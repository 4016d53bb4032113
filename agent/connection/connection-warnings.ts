import type { CallFailure } from '../../protocol/client.ts';
import type { Clock } from '../clock.ts';
import { explainFailure } from './troubles.ts';

export interface ConnectionWarnings {
  warn(failure: CallFailure): void;
  missedBeat(failure: CallFailure, timeoutMs: number): void;
  /** The command stream did not open; the response had this status. */
  streamRefused(status: number): void;
  /** The orchestrator has announced that it stops. Failures within T are not logged. */
  expectAbsence(reason: string, timeoutMs: number): void;
  beaten(): void;
  clear(): void;
  connected(): void;
}

const maxLogged = 20;

/** Logs each trouble once, until a call has succeeded again. */
export function createConnectionWarnings(
  clock: Clock,
  url: string,
  log: (message: string) => void,
): ConnectionWarnings {
  const logged = new Set<string>();
  let beatenAt = clock.mono();
  let quietUntil = 0;
  let streamStatus: number | null = null;
  const isQuiet = (): boolean => clock.mono() < quietUntil;
  const once = (message: string): void => {
    if (logged.has(message)) return;
    // Some proxies never send the same response twice, so the set needs a limit.
    if (logged.size >= maxLogged) logged.clear();
    logged.add(message);
    log(message);
  };
  const warn = (failure: CallFailure): void => {
    if (isQuiet()) return;
    const message = explainFailure(failure, url);
    once(failure.kind === 'unreachable' ? `${message}. Trying again` : message);
  };
  return {
    warn,
    missedBeat(failure, timeoutMs) {
      if (isQuiet()) return;
      if (clock.mono() - beatenAt < timeoutMs) return warn(failure);
      const seconds = Math.round(timeoutMs / 1000);
      once(
        `Heartbeat timeout (${seconds}s): the orchestrator counts this worker as offline by now. Check the network; on an ` +
          'unreliable one, raise SIMPLETUNER_HEARTBEAT_TIMEOUT on the orchestrator',
      );
    },
    streamRefused(status) {
      // The next registration reports a 401. With any other status, the registration can succeed, so log the status here.
      if (status === 401 || status === streamStatus || isQuiet()) return;
      streamStatus = status;
      log(
        `${url} answered ${status} when this worker asked for its commands: no job can reach it. Check the orchestrator, ` +
          'and any proxy in between. Trying again',
      );
    },
    expectAbsence(reason, timeoutMs) {
      quietUntil = clock.mono() + timeoutMs;
      log(
        `The orchestrator stops on purpose (${reason}): a training goes on, and this worker connects again when it is back`,
      );
    },
    beaten() {
      beatenAt = clock.mono();
      logged.clear();
    },
    clear: () => logged.clear(),
    connected() {
      streamStatus = null;
      quietUntil = 0;
    },
  };
}
