import type { Clock, SimulatedWorker } from '../../agent/simulated/simulated-worker.ts';
import type { Random } from './random.ts';
import type { Tally } from './tally.ts';

interface AbsenceDeps {
  readonly clock: Clock;
  readonly tally: Pick<Tally, 'away'>;
  readonly log: (message: string) => void;
}

/** Some absences are shorter than the orchestrator's default timeout of 120 s, others longer. */
const absence = { everyMs: [30_000, 180_000], forMs: [10_000, 180_000] } as const;

/** Disconnects a worker without notice at random times. The returned function stops this, and reconnects the worker. */
export function disconnectAtRandom(
  worker: Pick<SimulatedWorker, 'vanish' | 'comeBack'>,
  { clock, tally, log }: AbsenceDeps,
  random: Random,
): () => void {
  let isAway = false;
  let cancelTimer = (): void => {};
  const reconnect = (): void => {
    if (!isAway) return;
    isAway = false;
    tally.away -= 1;
    worker.comeBack();
    log('Reconnected');
  };
  const scheduleAbsence = (): void => {
    reconnect();
    cancelTimer = clock.after(random.between(...absence.everyMs), () => {
      isAway = true;
      tally.away += 1;
      worker.vanish();
      log('Disconnected without notice');
      cancelTimer = clock.after(random.between(...absence.forMs), scheduleAbsence);
    });
  };
  scheduleAbsence();
  return () => {
    cancelTimer();
    reconnect();
  };
}
