import { expect, it } from 'vitest';
import type { ShipCall } from '../../../../agent/connection/api-client.ts';
import { createSimulatedLogs } from '../../../../agent/simulated/simulated-job.ts';
import { createLogStore, terminalText } from '../../../support/log-book.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { attemptId, jobId, unreachable } from '../builders.ts';

function createFixture() {
  const clock = createVirtualClock();
  const store = createLogStore();
  let isDown = false;
  const ship: ShipCall = async (_job, chunk) =>
    isDown
      ? { ok: false, failure: unreachable() }
      : { ok: true, value: { success: true, next: store.accept(chunk) } };
  const logs = createSimulatedLogs({ ship, clock, random: () => 0.5, signal: new AbortController().signal });
  const contact = { sentAt: 0, timeoutMs: 1, graceMs: 1 };
  const print = logs.open({
    jobId: jobId('j1'),
    attemptId: attemptId('a1'),
    configName: 'demo',
    onLostContact: 'continue',
    contact,
  });
  return { clock, store, logs, print, setDown: (value: boolean) => (isDown = value) };
}

it('logs the progress of a simulated training as a bar, and a last line at the end', async () => {
  const { clock, store, logs, print } = createFixture();
  logs.follow(attemptId('a1'), []);
  await clock.advance(1_000);
  print({ step: 5, total_steps: 20, loss: 0.5 });
  await clock.advance(10_000);
  expect(store.of().text).toBe('Training demo, as if\nSteps:  25%|#####               | 5/20 [loss=0.5000]');
  print({ step: 20, total_steps: 20 });
  logs.finish(attemptId('a1'));
  await logs.leave(5_000);
  expect(terminalText(store.of().text)).toBe(
    'Training demo, as if\nSteps: 100%|####################| 20/20\nEnded\n',
  );
  expect(store.of().isComplete).toBe(true);
});

it('keeps only the newest output of a simulated training while the server is unreachable', async () => {
  const { clock, store, logs, print, setDown } = createFixture();
  await clock.advance(1_000);
  setDown(true);
  for (let step = 0; step < 5_000; step += 1) print({ step });
  logs.finish(attemptId('a1'));
  await clock.advance(1_000);
  setDown(false);
  await clock.advance(60_000);
  expect(store.of().gaps).toHaveLength(1);
  expect(terminalText(store.of().text)).toContain('4999/0\nEnded\n');
});
