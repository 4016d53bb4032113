import type { AttemptId, WorkerId } from '../../../protocol/ids.ts';
import type { GpuFigures } from '../../../protocol/worker.ts';
import type { LiveJob, MonoMs, WallMs, Worker } from '../model.ts';
import type { AttemptNode } from '../node-model.ts';
import { gpusFor } from '../model.ts';
import type {
  AttemptEnergy,
  Clock,
  EnergyPortion,
  Log,
  Store,
  TrustedTime,
  WorkerEnergy,
} from '../ports/index.ts';
import type { LaunchBook } from './launch-book.ts';
import { dayOf, energyBetween, type PowerReading } from '../rules/energy.ts';

/** Time in ms from the first unsaved measurement until the energy is stored. A crash loses the energy of at most this time. */
export const energyFlushMs = 300_000;
/** The number of days for which the energy of workers is stored. */
const keptDays = 60;

/** The power of a worker's GPUs, from a heartbeat. */
interface PowerReport extends PowerReading {
  readonly workerId: WorkerId;
  readonly wall: WallMs;
  /** False for the worker of a pool. */
  readonly isOwn: boolean;
  /** The attempt that uses these GPUs; null for none. */
  readonly attempt: (Omit<AttemptEnergy, 'joules'> & { readonly gpus: readonly number[] }) | null;
}

/** Accumulates the energy of workers and attempts in memory, because a heartbeat must not cause a write. */
export interface EnergyBook {
  note(report: PowerReport): void;
  /** Returns the energy that is not stored yet. */
  waiting(): EnergyPortion;
  /** Returns and removes the energy that is not stored yet. Also removes old readings. */
  take(now: MonoMs): EnergyPortion;
  /** Adds energy that could not be stored. */
  putBack(portion: EnergyPortion): void;
}

/**
 * Creates an energy book. Readings of a worker that are more than `maxGapMs` apart add no energy. `onFirst` is called when
 * energy arrives in an empty book, so that the caller can schedule its storage.
 */
export function createEnergyBook(maxGapMs: number, onFirst: () => void): EnergyBook {
  const readings = new Map<WorkerId, PowerReading>();
  let workers = new Map<string, WorkerEnergy>();
  let attempts = new Map<AttemptId, AttemptEnergy>();

  const add = (worker: WorkerEnergy): void => {
    const key = `${worker.day} ${worker.workerId}`;
    if (workers.size === 0) onFirst();
    workers.set(key, { ...worker, joules: worker.joules + (workers.get(key)?.joules ?? 0) });
  };
  const addToAttempt = (attempt: AttemptEnergy): void => {
    const earlier = attempts.get(attempt.attemptId)?.joules ?? 0;
    attempts.set(attempt.attemptId, { ...attempt, joules: attempt.joules + earlier });
  };
  const waiting = (): EnergyPortion => ({
    workers: [...workers.values()],
    attempts: [...attempts.values()],
  });
  return {
    note({ workerId, wall, isOwn, attempt, ...reading }) {
      const byGpu = energyBetween(readings.get(workerId) ?? null, reading, maxGapMs);
      readings.set(workerId, reading);
      if (byGpu.size === 0) return;
      const sum = (gpus: Iterable<number>): number =>
        [...gpus].reduce((joules, gpu) => joules + (byGpu.get(gpu) ?? 0), 0);
      add({ workerId, day: dayOf(wall), joules: sum(byGpu.keys()), isOwn });
      if (attempt === null) return;
      const { gpus, ...ids } = attempt;
      addToAttempt({ ...ids, joules: sum(gpus) });
    },
    waiting,
    take(now) {
      const taken = waiting();
      workers = new Map();
      attempts = new Map();
      for (const [worker, { at }] of readings) if (now - at > maxGapMs) readings.delete(worker);
      return taken;
    },
    putBack(portion) {
      portion.workers.forEach(add);
      portion.attempts.forEach(addToAttempt);
    },
  };
}

interface EnergyDeps {
  readonly energy: EnergyBook;
  readonly launches: LaunchBook;
  readonly store: Store;
  readonly clock: Clock;
  readonly time: TrustedTime;
  readonly log: Log;
}

/** The job that a worker runs, alone or as one of several workers. */
export interface RunningWork {
  readonly live: LiveJob | null;
  readonly node: AttemptNode | null;
}

/** Adds the power in a heartbeat to the energy of the worker and of its attempt. */
export function notePower(
  core: EnergyDeps,
  { id: workerId, agent }: Worker,
  figures: readonly GpuFigures[],
  { live, node }: RunningWork,
): void {
  const watts = new Map(
    figures.flatMap(({ index, power_w: power }) => (power === null ? [] : [[index, power]])),
  );
  if (watts.size === 0) return;
  const jobId = live?.id ?? node?.jobId ?? null;
  const attemptId = live?.attempt.id ?? node?.attemptId ?? null;
  const spec = live?.spec ?? (jobId === null ? undefined : core.store.job(jobId)?.spec);
  // A job identifies GPUs by their position in the worker's list. A job that requests no number of GPUs can use all of them.
  const listed = agent?.capabilities.gpus ?? [];
  const positions = spec === undefined ? [] : gpusFor(spec);
  const gpus =
    positions.length === 0
      ? [...watts.keys()]
      : positions.map(position => listed[position]?.index ?? position);
  core.energy.note({
    workerId,
    watts,
    at: core.clock.mono(),
    wall: core.time.now(),
    isOwn: core.launches.launchOf(workerId) === null,
    attempt: jobId === null || attemptId === null ? null : { jobId, attemptId, gpus },
  });
}

/** Stores the accumulated energy. While the disk refuses writes, the energy stays in memory. */
export function storeEnergy(core: EnergyDeps): void {
  const portion = core.energy.take(core.clock.mono());
  if (portion.workers.length === 0) return;
  if (!core.store.acceptsWrites()) return core.energy.putBack(portion);
  const oldest = dayOf(core.time.earliest()) - keptDays;
  core.store
    .write(tx => {
      tx.addEnergy(portion);
      tx.trimEnergy(oldest);
    })
    .catch((cause: unknown) => {
      core.log.warn('energy.not_stored', { cause });
      core.energy.putBack(portion);
    });
}
