import type { Found } from '../../../agent/attempt/adopt.ts';
import type { ExitRecord, Order } from '../../../agent/guard/guard-files.ts';
import type { Run, RunOrigin } from '../../../agent/attempt/run.ts';
import type { RunListeners } from '../../../agent/attempt/run-follow.ts';
import {
  type FinalReport,
  holdRegistrations,
  type Registrations,
  type StateFolder,
} from '../../../agent/state/state-folder.ts';
import type { AttemptId } from '../../../protocol/ids.ts';
import type { JobOffer } from '../../../agent/job.ts';
import type { Machine } from './machine.ts';
import type { SimProcess } from './process.ts';
import type { Random } from './random.ts';
import type { Exit, TrainingBehaviour, Trainer, TrainerYard } from './trainer.ts';

/** The record of a run on the rig's disk. It survives the end of the agent and a power cut. */
interface RunRecord {
  readonly origin: RunOrigin;
  contact: RunOrigin['contact'];
  /** True once the guard has taken the run. Until then, the next agent can cancel the run. */
  isTaken: boolean;
  /** True when the guard died before it recorded the end. */
  isOrphan: boolean;
  trainer: Trainer | null;
  order: Order | null;
  exit: ExitRecord | null;
  report: FinalReport | null;
}

/**
 * The guards of a rig and their files. A guard survives the agent. It runs the trainer, records the trainer's end, and stops the
 * trainer when contact is lost. Replaces the processes of agent/guard/guard.ts and the files of agent/guard/guard-files.ts.
 */
export interface Guard {
  readonly state: Pick<StateFolder, 'keepReport' | 'dropReport'>;
  readonly registrations: Registrations;
  /** True while a run needs an agent to complete it. */
  readonly isNeeded: boolean;
  /** True when the disk contains the end of this attempt, and the orchestrator has not confirmed it yet. */
  keeps(attempt: AttemptId): boolean;
  /** Returns the run that an earlier agent process left behind; null when there is none. */
  find(process: SimProcess): Found | null;
  /** Starts a run. Rejects when its guard dies before the trainer starts. */
  start(process: SimProcess, offer: JobOffer, origin: RunOrigin, listeners: RunListeners): Promise<Run>;
  /** Kills only the guard. The trainer dies later, when it prints its next line. */
  kill(): void;
  /** Simulates a power cut: ends guards and trainers, keeps files. */
  losePower(): void;
}

interface GuardDeps {
  readonly machine: Machine;
  readonly yard: TrainerYard;
  readonly random: Random;
  readonly behaviourOf: (offer: JobOffer) => TrainingBehaviour;
}

export function createGuard(deps: GuardDeps): Guard {
  const { machine, yard, random } = deps;
  const runs = new Map<AttemptId, RunRecord>();
  const registrations = holdRegistrations();
  /** Callbacks by run, called when the run changes in a way that its agent must know. */
  const watchers = new Map<RunRecord, Set<() => void>>();

  const notifyWatchers = (run: RunRecord): void => {
    for (const onChange of watchers.get(run) ?? []) onChange();
  };
  const watch = (run: RunRecord, onChange: () => void): (() => void) => {
    const callbacks = watchers.get(run) ?? new Set();
    watchers.set(run, callbacks.add(onChange));
    return () => void callbacks.delete(onChange);
  };
  const isGuarded = (run: RunRecord): boolean => run.isTaken && !run.isOrphan && run.exit === null;
  const recordEnd = (run: RunRecord, exit: ExitRecord): void => {
    if (!isGuarded(run)) return;
    run.exit = exit;
    notifyWatchers(run);
  };
  /** Starts the trainer of a run as its guard does, and stops it on an order or when contact is lost. */
  const begin = (run: RunRecord, behaviour: TrainingBehaviour): void => {
    if (!isGuarded(run)) return;
    const { jobId, attemptId, onLostContact } = run.origin;
    const trainer = yard.start(machine, { jobId, attemptId }, behaviour);
    run.trainer = trainer;
    let stopped: ExitRecord['stopped'] = null;
    const stop = (why: NonNullable<ExitRecord['stopped']>, graceMs: number): void => {
      if (stopped !== null || !isGuarded(run)) return;
      stopped = why;
      terminate(machine, trainer, graceMs);
    };
    const applyOrder = (): void => {
      if (run.order !== null) stop(run.order, run.contact.graceMs);
    };
    const checkContact = (): void => {
      const leftMs = run.contact.sentAt + run.contact.timeoutMs - machine.mono();
      if (leftMs <= 0) stop('lost_contact', run.contact.graceMs);
      else if (isGuarded(run)) machine.after(leftMs, checkContact);
    };
    watch(run, applyOrder);
    trainer.onExit(exit => recordEnd(run, { ...exit, stopped, startError: null, tail: '' }));
    if (onLostContact === 'stop') checkContact();
    applyOrder();
    notifyWatchers(run);
  };

  /** Follows a run for an agent process. `finished` resolves with the end of the run; null when its guard died. */
  const attend = (process: SimProcess, run: RunRecord, listeners: RunListeners): Run => {
    const finished = Promise.withResolvers<ExitRecord | null>();
    let isLeft = false;
    const finish = (exit: ExitRecord | null): void => process.deliver(() => isLeft || finished.resolve(exit));
    const checkEnd = (): void => {
      if (run.exit !== null) finish(run.exit);
      else if (run.isOrphan) void endOrphan(process, machine, run.trainer).then(() => finish(null));
    };
    watch(run, checkEnd);
    run.trainer?.onPrint(step => process.deliver(() => isLeft || listeners.onProgress({ step })));
    checkEnd();
    return {
      pid: run.trainer?.pid ?? null,
      finished: finished.promise,
      stop(order) {
        run.order ??= order;
        // The guard reads the order file with some delay.
        machine.after(random.int(1, 400), () => notifyWatchers(run));
      },
      contact: contact => void (run.contact = contact),
      leave: () => void (isLeft = true),
    };
  };

  const inspectRun = (process: SimProcess, run: RunRecord): Found | null => {
    if (run.report !== null) return { kind: 'reported', report: run.report };
    const { origin, order } = run;
    const found = {
      origin: { ...origin },
      order,
      attend: (listeners: RunListeners) => attend(process, run, listeners),
    };
    if (run.exit !== null) return order === 'abandon' ? null : { kind: 'ended', ...found };
    if (isGuarded(run)) return { kind: 'running', ...found };
    void endOrphan(process, machine, run.trainer);
    return null;
  };

  return {
    state: {
      keepReport(report) {
        const run = runs.get(report.attemptId);
        // A run that failed to start has no record.
        if (run !== undefined) run.report = report;
      },
      dropReport: attempt => void runs.delete(attempt),
    },
    registrations,
    get isNeeded() {
      return runs.size > 0;
    },
    keeps(attempt) {
      const run = runs.get(attempt);
      return run !== undefined && (run.report !== null || (run.exit !== null && run.order !== 'abandon'));
    },
    find(process) {
      for (const [attempt, run] of runs) {
        const found = inspectRun(process, run);
        if (found !== null) return found;
        runs.delete(attempt);
      }
      return null;
    },
    async start(process, offer, origin, listeners) {
      const run: RunRecord = {
        origin,
        contact: origin.contact,
        isTaken: false,
        isOrphan: false,
        trainer: null,
        order: null,
        exit: null,
        report: null,
      };
      runs.set(origin.attemptId, run);
      const behaviour = deps.behaviourOf(offer);
      const takenMs = random.int(2, 120);
      // The guard is a separate process. It starts the trainer even if the agent dies, unless the next agent cancels the run
      // first.
      machine.after(takenMs, () => (run.isTaken = runs.get(origin.attemptId) === run && !run.isOrphan));
      machine.after(takenMs + random.int(2, 120), () => begin(run, behaviour));
      await new Promise<void>(resolve => {
        const checkStart = (): void => {
          if (run.trainer !== null || run.isOrphan) process.deliver(resolve);
        };
        watch(run, checkStart);
        checkStart();
      });
      if (run.trainer === null) throw new Error('its guard could not be started: it ended at once');
      return attend(process, run, listeners);
    },
    kill() {
      for (const run of runs.values()) {
        if (run.exit !== null || run.report !== null) continue;
        run.isOrphan = true;
        // No process reads the trainer's output any more, so the trainer dies when it prints the next line.
        run.trainer?.onPrint(() => run.trainer?.kill());
        notifyWatchers(run);
      }
    },
    losePower() {
      for (const run of runs.values()) run.isOrphan ||= run.exit === null;
      for (const trainer of yard.on(machine.name)) trainer.kill();
    },
  };
}

function terminate(machine: Machine, trainer: Trainer, graceMs: number): void {
  trainer.term();
  machine.after(graceMs, () => trainer.isAlive && trainer.kill());
}

/** Grace period in ms for a trainer whose guard is gone, as in agent/attempt/run-follow.ts. */
const orphanGraceMs = 5_000;

function endOrphan(process: SimProcess, machine: Machine, trainer: Trainer | null): Promise<Exit | null> {
  if (trainer === null || !trainer.isAlive) return Promise.resolve(null);
  terminate(machine, trainer, orphanGraceMs);
  return process.gate(new Promise(resolve => trainer.onExit(resolve)));
}
