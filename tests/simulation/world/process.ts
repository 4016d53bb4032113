import type { Clock } from '../../../main/orchestrator/ports/index.ts';
import type { Machine } from './machine.ts';

/**
 * A process on a machine. It receives all external events (timers, answers, output) through `deliver`. Events wait while the
 * process is paused, and are lost after its death.
 */
export interface SimProcess {
  readonly name: string;
  readonly clock: Clock;
  readonly isAlive: boolean;
  readonly isPaused: boolean;
  deliver(run: () => void): void;
  /** Delivers the result of an external promise to the process. The returned promise never settles if the process dies first. */
  gate<T>(coming: Promise<T>): Promise<T>;
  /** SIGSTOP. */
  pause(): void;
  /** SIGCONT: delivers the events that arrived during the pause, in order. */
  resume(): void;
  /** kill -9. */
  kill(): void;
  onDeath(run: () => void): void;
}

export function startProcess(machine: Machine, name: string): SimProcess {
  let isAlive = true;
  let isPaused = false;
  let held: (() => void)[] = [];
  const deathListeners: (() => void)[] = [];

  const deliver = (run: () => void): void => {
    if (!isAlive) return;
    if (isPaused) held.push(run);
    else run();
  };
  const clock: Clock = {
    wall: machine.wall,
    mono: machine.mono,
    iso: at => new Date(at).toISOString(),
    after(ms, run) {
      let isOff = false;
      // A timer that expires while the process is paused waits for the end of the pause. The process can still cancel the timer.
      const cancel = machine.after(ms, () => deliver(() => isOff || run()));
      return () => {
        isOff = true;
        cancel();
      };
    },
  };
  return {
    name,
    clock,
    get isAlive() {
      return isAlive;
    },
    get isPaused() {
      return isPaused;
    },
    deliver,
    gate: coming =>
      new Promise((resolve, reject) => {
        coming.then(
          value => deliver(() => resolve(value)),
          (cause: unknown) =>
            deliver(() => reject(cause instanceof Error ? cause : new Error(String(cause)))),
        );
      }),
    pause() {
      isPaused = true;
    },
    resume() {
      isPaused = false;
      const due = held;
      held = [];
      for (const run of due) deliver(run);
    },
    kill() {
      if (!isAlive) return;
      isAlive = false;
      held = [];
      for (const notifyDeath of deathListeners) notifyDeath();
    },
    onDeath: run => void deathListeners.push(run),
  };
}
