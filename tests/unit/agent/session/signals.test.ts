import { expect, it } from 'vitest';
import { catchEarlySignals, handleSignals, type WorkerSignal } from '../../../../agent/session/signals.ts';
import { tokenOf } from '../agent-bench.ts';

/** A process whose signals the test sends. */
function openSignals(noticeSignal: 'SIGUSR1' | null) {
  const acts = new Map<WorkerSignal, () => void>();
  const did: string[] = [];
  const early = catchEarlySignals((signal, act) => void acts.set(signal, act), noticeSignal);
  const attach = () =>
    handleSignals(early, {
      agent: {
        leave: () => void did.push('leave'),
        leaveNow: () => void did.push('leave now'),
        handOver: () => true,
        notice: signal => void did.push(`notice ${signal}`),
      },
      token: tokenOf({ kind: 'value', token: 'wt_1' }),
      network: new AbortController(),
      noticeSignal,
      log: () => {},
    });
  return { acts, did, attach, send: (signal: WorkerSignal) => acts.get(signal)?.() };
}

it('takes the chosen signal as a notice, also while the worker starts', () => {
  const { did, attach, send } = openSignals('SIGUSR1');
  send('SIGUSR1');
  attach();
  send('SIGUSR1');
  send('SIGTERM');
  expect(did).toEqual(['notice SIGUSR1', 'notice SIGUSR1', 'leave']);
});

it('listens to no such signal by default', () => {
  const { acts } = openSignals(null);
  expect([...acts.keys()]).toEqual(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR2']);
});
