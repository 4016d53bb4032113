// Tests the switch alone, with fake local workers.
import { expect, test } from 'vitest';
import { createLocalWorkerSwitch } from '../../../../main/host/local-worker-switch.ts';

const settings = { gpus: '0', trainer: null, workDir: null };

function open() {
  const calls: string[] = [];
  const ends: (() => void)[] = [];
  let count = 0;
  const lever = createLocalWorkerSwitch(({ gpus }) => {
    count += 1;
    const name = `worker ${count}`;
    calls.push(`${name} starts with ${gpus}`);
    return {
      async stop() {
        calls.push(`${name} stops`);
      },
      retire() {
        calls.push(`${name} retires`);
        return new Promise(resolve => ends.push(resolve));
      },
    };
  });
  return {
    ...lever,
    calls,
    // Ends the job of the worker that is leaving.
    async finish() {
      ends.shift()?.();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

test('changes from off to on, to leaving while a job lasts, and to off', async () => {
  const lever = open();
  expect(lever.state()).toBe('off');
  await lever.turn(null);
  expect(lever.state()).toBe('off');
  await lever.turn(settings);
  expect(lever.state()).toBe('on');
  await lever.turn(null);
  await lever.turn(null);
  expect(lever.state()).toBe('leaving');
  await lever.finish();
  expect(lever.state()).toBe('off');
  expect(lever.calls).toEqual(['worker 1 starts with 0', 'worker 1 retires']);
});

test('restarts the local worker for new settings and after a change of mind', async () => {
  const lever = open();
  await lever.turn(settings);
  await lever.turn({ ...settings, gpus: '1' });
  await lever.turn(null);
  await lever.turn(settings);
  // The previous worker ends late and must not affect the new one.
  await lever.finish();
  expect(lever.state()).toBe('on');
  expect(lever.calls).toEqual([
    'worker 1 starts with 0',
    'worker 1 stops',
    'worker 2 starts with 1',
    'worker 2 retires',
    'worker 2 stops',
    'worker 3 starts with 0',
  ]);
});

test('stops the local worker immediately when the orchestrator stops', async () => {
  const lever = open();
  await lever.turn(settings);
  await lever.turn(null);
  await lever.close();
  await lever.turn(settings);
  expect(lever.calls).toEqual(['worker 1 starts with 0', 'worker 1 retires', 'worker 1 stops']);
});
