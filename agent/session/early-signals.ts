const workerSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const;
export type WorkerSignal = (typeof workerSignals)[number];

export interface EarlySignals {
  /** Replays earlier signals in order, then passes each further one to its handler. */
  attach(handlers: Readonly<Record<WorkerSignal, () => void>>): void;
}

/**
 * Catches signals from now on. Without a handler, SIGUSR2 kills a process that is still probing its GPUs, and a service
 * manager that upgrades the worker sees a crash.
 */
export function catchEarlySignals(onSignal: (signal: WorkerSignal, act: () => void) => void): EarlySignals {
  const early: WorkerSignal[] = [];
  let receive = (signal: WorkerSignal): void => void early.push(signal);
  for (const signal of workerSignals) onSignal(signal, () => receive(signal));
  return {
    attach(handlers) {
      receive = signal => handlers[signal]();
      for (const signal of early.splice(0)) receive(signal);
    },
  };
}
