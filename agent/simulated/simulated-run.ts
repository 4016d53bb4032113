import type { OnLostContact, TrainerConfig } from '../../protocol/job.ts';
import type { Progress } from '../../protocol/progress.ts';
import type { Clock } from '../clock.ts';
import type { ExitRecord, Order } from '../guard/guard-files.ts';
import type { Run, RunOrigin } from '../attempt/run.ts';
import type { RunListeners } from '../attempt/run-follow.ts';

/** The parts of a job that a simulated trainer receives. */
export interface SimulatedJob {
  readonly configName: string;
  readonly config: TrainerConfig;
}

/** A simulated training: it takes time and does nothing else. */
export interface SimulatedTraining {
  /** `tail`: the last lines of its output. */
  readonly exited: Promise<Pick<ExitRecord, 'code' | 'signal' | 'tail'>>;
  /** Has the effect of SIGTERM. */
  stop(): void;
}

export type SimulatedTrainer = (
  job: SimulatedJob,
  onProgress: (progress: Progress) => void,
) => SimulatedTraining;

interface SimulatedRunDeps {
  readonly trainer: SimulatedTrainer;
  readonly job: SimulatedJob;
  readonly clock: Clock;
}

/**
 * Runs a simulated training as `startRun` runs a real one. Only the first order counts. A training that must not run without
 * contact is stopped T after the last contact. There is no guard, so a training ends when its agent leaves it.
 */
export function simulateRun(origin: RunOrigin, listeners: RunListeners, deps: SimulatedRunDeps): Run {
  const { trainer, job, clock } = deps;
  let { contact } = origin;
  let stopped: Order | 'lost_contact' | null = null;
  let takeBack = (): void => {};
  const training = trainer(job, progress => {
    listeners.onFigures({ progress, gaps: [] }, false);
    listeners.onProgress(progress);
  });
  const stop = (why: Order | 'lost_contact'): void => {
    stopped ??= why;
    training.stop();
  };
  const watchContact = (onLostContact: OnLostContact): void => {
    if (onLostContact === 'continue') return;
    const leftMs = contact.sentAt + contact.timeoutMs - clock.mono();
    if (leftMs <= 0) stop('lost_contact');
    else takeBack = clock.after(leftMs, () => watchContact(onLostContact));
  };
  watchContact(origin.onLostContact);
  return {
    pid: process.pid,
    finished: training.exited.then(exit => {
      takeBack();
      return { ...exit, stopped, startError: null };
    }),
    stop: order => stop(order),
    contact(newer) {
      contact = newer;
    },
    leave: training.stop,
  };
}
