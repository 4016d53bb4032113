import type { NoticeSignal } from '../config/notice-signal.ts';
import type { Agent } from './agent.ts';
import type { TokenHolder } from './worker-token.ts';

const standardSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2'] as const;
type StandardSignal = (typeof standardSignals)[number];
export type WorkerSignal = StandardSignal | NoticeSignal;

type Handlers = Readonly<Record<StandardSignal, () => void>> &
  Partial<Readonly<Record<NoticeSignal, () => void>>>;

export interface EarlySignals {
  /** Replays earlier signals in order, then passes each further signal to its handler. */
  attach(handlers: Handlers): void;
  /** Passes each further signal to `pass`, for example to a trial of a new program. */
  forward(pass: (signal: WorkerSignal) => void): void;
}

/**
 * Catches signals from now on. Without a handler, SIGUSR2 kills a process that is still probing its GPUs, and a service
 * manager that upgrades the worker sees a crash.
 */
export function catchEarlySignals(
  onSignal: (signal: WorkerSignal, act: () => void) => void,
  notice: NoticeSignal | null = null,
): EarlySignals {
  const early: WorkerSignal[] = [];
  let receive = (signal: WorkerSignal): void => void early.push(signal);
  const signals: readonly WorkerSignal[] = notice === null ? standardSignals : [...standardSignals, notice];
  for (const signal of signals) onSignal(signal, () => receive(signal));
  return {
    attach(handlers) {
      receive = signal => handlers[signal]?.();
      for (const signal of early.splice(0)) receive(signal);
    },
    forward(pass) {
      receive = pass;
    },
  };
}

export interface SignalDeps {
  readonly agent: Pick<Agent, 'leave' | 'leaveNow' | 'handOver' | 'notice'>;
  /** The signal that announces that the machine will be taken away; null for none. */
  readonly noticeSignal?: NoticeSignal | null;
  readonly token: TokenHolder;
  /** Aborts all calls of this worker. */
  readonly network: AbortController;
  readonly log: (message: string) => void;
}

/**
 * The first SIGTERM or SIGINT makes the agent finish its job and leave; the second one stops the job. At SIGUSR2 the
 * agent leaves immediately, and the guard keeps the training alive. At SIGHUP, the agent reads the token file again. At
 * the notice signal, the agent saves and stops its job, and leaves. Returns the handler of SIGUSR2, for a worker that
 * leaves with its parent.
 */
export function handleSignals(signals: EarlySignals, deps: SignalDeps): () => void {
  const { agent, token, network, noticeSignal = null, log } = deps;
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
  const notice = noticeSignal === null ? {} : { [noticeSignal]: () => agent.notice(noticeSignal) };
  signals.attach({ SIGTERM: stop, SIGINT: stop, SIGHUP: reload, SIGUSR2: handOver, ...notice });
  return handOver;
}
