import {
  type Clock,
  createSimulatedWorker,
  type SimulatedTraining,
  type SimulatedWorker,
} from '../../agent/simulated/simulated-worker.ts';
import type { Remote } from '../../main/cli/remote.ts';
import type { WorkerPlan } from './hardware.ts';
import type { Random } from './random.ts';
import { planTraining, telemetryOf, train, type TrainingSettings } from './training-plan.ts';
import type { Tally } from './display.ts';

interface AbsenceDeps {
  readonly clock: Clock;
  readonly tally: Pick<Tally, 'away'>;
  readonly log: (message: string) => void;
}

/** The time until an absence and its length, as ranges in ms. The length may exceed the server's default timeout of 120 s. */
const absence = { everyMs: [30_000, 180_000], forMs: [10_000, 180_000] } as const;

/**
 * Cuts a worker's connection at random times, as a network failure would. Returns a function that ends these absences.
 */
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

export interface DemoWorkerDeps {
  readonly plan: WorkerPlan;
  readonly url: string;
  readonly fetch: Remote['fetch'];
  /** The worker's own token. */
  readonly token: string;
  readonly habits: TrainingSettings;
  readonly random: Random;
  readonly clock: Clock;
  readonly tally: Tally;
  readonly log: (message: string) => void;
}

export interface DemoWorker {
  /** Resolves with the exit code when the worker has left. */
  readonly exited: Promise<number>;
  leaveNow(): void;
}

/** Starts a demo worker: the real agent on simulated hardware. */
export function startDemoWorker(deps: DemoWorkerDeps): DemoWorker {
  const { plan, url, token, fetch, random, clock, tally, log } = deps;
  const workerRandom = random.fork(plan.name);
  const telemetryRandom = workerRandom.fork('figures');
  const trainings = createTrainings(deps, workerRandom.fork('trainings'));
  const { machine } = plan;
  const worker = createSimulatedWorker({
    url,
    token,
    fetch,
    name: plan.name,
    persistent: !plan.isEphemeral,
    accelerator: machine.accelerator,
    gpus: Array.from({ length: machine.gpuCount }, (_, index) => ({
      index,
      name: machine.gpuName,
      vramGb: machine.vramGb,
      ...(machine.driver !== undefined && { driver: machine.driver }),
    })),
    trainer: trainings.start,
    telemetry: () => telemetryOf(machine, trainings.isTraining(), telemetryRandom),
    random: workerRandom.fork('agent').next,
    clock,
    onConnection: isOpen => {
      tally.connected += isOpen ? 1 : -1;
    },
    log,
  });
  const stopAbsences = plan.isFlaky
    ? disconnectAtRandom(worker, deps, workerRandom.fork('absences'))
    : () => {};
  const exited = worker.run().then(code => {
    stopAbsences();
    tally.ended += 1;
    return code;
  });
  return {
    exited,
    leaveNow() {
      stopAbsences();
      worker.leaveNow();
    },
  };
}

function createTrainings({ plan, habits, clock, tally }: DemoWorkerDeps, random: Random) {
  let count = 0;
  let isTraining = false;
  const recordEnd = ({ code }: Awaited<SimulatedTraining['exited']>): void => {
    isTraining = false;
    tally.training -= 1;
    if (code === 0) tally.completed += 1;
    else if (code === null) tally.stopped += 1;
    else tally.failed += 1;
  };
  return {
    isTraining: () => isTraining,
    start(...[{ config }, onProgress]: Parameters<Parameters<typeof createSimulatedWorker>[0]['trainer']>) {
      count += 1;
      const trainingRandom = random.fork(String(count));
      const training = train(
        planTraining(config, plan.machine, habits, trainingRandom),
        { clock, random: trainingRandom },
        onProgress,
      );
      isTraining = true;
      tally.training += 1;
      void training.exited.then(recordEnd);
      return training;
    },
  };
}
