import { expect, it } from 'vitest';
import { catchEarlySignals, handleSignals, type WorkerSignal } from '../../../../agent/session/signals.ts';
import { openTokenHolder } from '../agent-fixture.ts';

/** Catches the signals of a fake process before its agent starts. The test sends the signals. */
function openSignals(noticeSignal: 'SIGUSR1' | null) {
  const handlers = new Map<WorkerSignal, () => void>();
  const actions: string[] = [];
  const early = catchEarlySignals((signal, handler) => void handlers.set(signal, handler), noticeSignal);
  /** Connects the signals to the agent, like a worker that has started. */
  const attachAgent = () =>
    handleSignals(early, {
      agent: {
        leave: () => void actions.push('leave'),
        leaveNow: () => void actions.push('leave now'),
        handOver: () => true,
        notice: signal => void actions.push(`notice ${signal}`),
      },
      token: openTokenHolder({ kind: 'value', token: 'wt_1' }),
      network: new AbortController(),
      noticeSignal,
      log: () => {},
    });
  return { handlers, actions, attachAgent, send: (signal: WorkerSignal) => handlers.get(signal)?.() };
}

it('passes the configured notice signal to the agent, also if it arrives before the agent has started', () => {
  const { actions, attachAgent, send } = openSignals('SIGUSR1');
  send('SIGUSR1');
  attachAgent();
  send('SIGUSR1');
  send('SIGTERM');
  expect(actions).toEqual(['notice SIGUSR1', 'notice SIGUSR1', 'leave']);
});

it('handles no notice signal by default', () => {
  const { handlers } = openSignals(null);
  expect([...handlers.keys()]).toEqual(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']);
});
