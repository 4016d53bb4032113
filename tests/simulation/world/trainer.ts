import type { AttemptId, JobId } from '../../../protocol/ids.ts';
import type { Machine } from './machine.ts';
import type { Random } from './random.ts';

/** The behaviour of one training. */
export interface TrainingBehaviour {
  readonly runsMs: number;
  /** Interval between lines in ms; null for a trainer that prints nothing before its end. */
  readonly printsEveryMs: number | null;
  readonly ends: Exit;
  /** Reaction to SIGTERM: dies, saves a last checkpoint and exits with 0, or ignores it. */
  readonly onTerm: 'dies' | 'finishes' | 'ignores';
  /** Time in ms for which child processes use the GPU after the end of the trainer, unless a signal ends them. */
  readonly childrenMs: number;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: 'SIGTERM' | 'SIGKILL' | 'SIGSEGV' | null;
}

/** The process group of a trainer. It depends on no agent and no network. */
export interface Trainer {
  readonly pid: number;
  readonly jobId: JobId;
  /** Null when the agent knows no attempts. */
  readonly attemptId: AttemptId | null;
  readonly machine: string;
  /** Virtual time of the simulation in ms. */
  readonly startedAt: number;
  /** True while any process of the group runs. */
  readonly isAlive: boolean;
  /** True after any signal, even if the trainer ignores it. */
  readonly isStopRequested: boolean;
  /** Sends SIGTERM (`term`) or SIGKILL (`kill`) to the group. */
  term(): void;
  kill(): void;
  onPrint(run: (step: number) => void): void;
  /** Calls back when the last process of the group has ended. */
  onExit(run: (exit: Exit) => void): void;
}

/** All trainers of this world. */
export interface TrainerYard {
  start(machine: Machine, what: Pick<Trainer, 'jobId' | 'attemptId'>, behaviour: TrainingBehaviour): Trainer;
  alive(): readonly Trainer[];
  on(machine: string): readonly Trainer[];
  /** Returns how many times a trainer of this job was started. */
  runsOf(jobId: JobId): number;
}

interface YardDeps {
  readonly now: () => number;
  readonly random: Random;
  readonly onStart: (trainer: Trainer) => void;
  readonly onEnd: (trainer: Trainer, exit: Exit) => void;
}

export function createTrainerYard({ now, random, onStart, onEnd }: YardDeps): TrainerYard {
  const living = new Set<Trainer>();
  const runs = new Map<JobId, number>();
  let lastPid = 100;
  return {
    start(machine, what, behaviour) {
      lastPid += 1;
      runs.set(what.jobId, (runs.get(what.jobId) ?? 0) + 1);
      const trainer = runTrainer(machine, { pid: lastPid, startedAt: now(), ...what }, behaviour, random);
      living.add(trainer);
      trainer.onExit(exit => {
        living.delete(trainer);
        onEnd(trainer, exit);
      });
      onStart(trainer);
      return trainer;
    },
    alive: () => [...living],
    on: machine => [...living].filter(trainer => trainer.machine === machine),
    runsOf: jobId => runs.get(jobId) ?? 0,
  };
}

function runTrainer(
  machine: Machine,
  what: Pick<Trainer, 'pid' | 'jobId' | 'attemptId' | 'startedAt'>,
  behaviour: TrainingBehaviour,
  random: Random,
): Trainer {
  const printers: ((step: number) => void)[] = [];
  const exitListeners: ((exit: Exit) => void)[] = [];
  let exit: Exit | null = null;
  let isAlive = true;
  let isStopRequested = false;
  let step = 0;

  const endGroup = (): void => {
    if (!isAlive || exit === null) return;
    isAlive = false;
    for (const run of exitListeners) run(exit);
  };
  const endLeader = (how: Exit): void => {
    if (exit !== null) return;
    exit = how;
    if (behaviour.childrenMs === 0) endGroup();
    else machine.after(behaviour.childrenMs, endGroup);
  };
  const print = (): void => {
    if (exit !== null || behaviour.printsEveryMs === null) return;
    step += 1;
    for (const run of printers) run(step);
    machine.after(behaviour.printsEveryMs, print);
  };
  machine.after(behaviour.printsEveryMs ?? behaviour.runsMs, print);
  machine.after(behaviour.runsMs, () => endLeader(behaviour.ends));

  return {
    ...what,
    machine: machine.name,
    get isAlive() {
      return isAlive;
    },
    get isStopRequested() {
      return isStopRequested;
    },
    term() {
      isStopRequested = true;
      if (behaviour.onTerm === 'dies')
        machine.after(random.int(5, 1_500), () => endLeader({ code: null, signal: 'SIGTERM' }));
      if (behaviour.onTerm === 'finishes')
        machine.after(random.int(500, 6_000), () => endLeader({ code: 0, signal: null }));
      // SIGTERM also ends child processes that outlive the trainer.
      if (exit !== null) machine.after(random.int(5, 900), endGroup);
    },
    kill() {
      isStopRequested = true;
      endLeader({ code: null, signal: 'SIGKILL' });
      endGroup();
    },
    onPrint: run => void printers.push(run),
    onExit: run => void exitListeners.push(run),
  };
}
