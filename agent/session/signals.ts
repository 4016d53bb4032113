import type { Agent } from './agent.ts';
import type { TokenHolder } from './worker-token.ts';

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

export interface SignalDeps {
  readonly agent: Pick<Agent, 'leave' | 'leaveNow' | 'handOver'>;
  readonly token: TokenHolder;
  /** Aborts all calls of this worker. */
  readonly network: AbortController;
  readonly log: (message: string) => void;
}

/**
 * The first SIGTERM or SIGINT makes the agent finish its job and leave; the second one stops the job. At SIGUSR2 the
 * agent leaves immediately, and the guard keeps the training alive. At SIGHUP it reads the token file again. Returns
 * what SIGUSR2 does, for a worker that leaves with its parent.
 */
export function handleSignals(signals: EarlySignals, { agent, token, network, log }: SignalDeps): () => void {
  let isStopping = false;
  const stop = (): void => {
    log(isStopping ? 'Stopping now' : 'Leaving when the job is done; a second signal stops it now');
    if (isStopping) agent.leaveNow();
    else agent.leave();
    isStopping = true;
  };
  const reload = (): void => {
    if (!token.reload()) return;
    log(`Took the new token from ${token.file}`);
    // A join token is exchanged now, not at the next registration.
    void token.ready(network.signal).then(ready => {
      if (ready.kind === 'rejected' || ready.kind === 'refused') log(ready.message);
    });
  };
  const handOver = (): void => {
    if (!agent.handOver()) return agent.leave();
    log('Leaving now: the training goes on, and the next start of this worker takes it up again');
    network.abort();
  };
  signals.attach({ SIGTERM: stop, SIGINT: stop, SIGHUP: reload, SIGUSR2: handOver });
  return handOver;
}
