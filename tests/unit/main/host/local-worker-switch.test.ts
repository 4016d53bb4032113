// Tests the switch that turns the local worker on and off. The local workers are fakes.
// A worker that is turned off retires: it finishes its job before it stops.
import { expect, test } from 'vitest';
import { createLocalWorkerSwitch } from '../../../../main/host/local-worker-switch.ts';

const settings = { gpus: '0', trainer: null, workDir: null };

function open() {
  const calls: string[] = [];
  const endRetirement: (() => void)[] = [];
  let count = 0;
  const localSwitch = createLocalWorkerSwitch(({ gpus }) => {
    count += 1;
    const name = `worker ${count}`;
    calls.push(`${name} starts with ${gpus}`);
    return {
      async stop() {
        calls.push(`${name} stops`);
      },
      retire() {
        calls.push(`${name} retires`);
        return new Promise(resolve => endRetirement.push(resolve));
      },
    };
  });
  return {
    ...localSwitch,
    calls,
    // Ends the job of the leaving worker.
    async finish() {
      endRetirement.shift()?.();
      // The switch handles the end in a later microtask.
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

test('reports the states off, on, leaving while a job runs, and off again', async () => {
  const localSwitch = open();
  expect(localSwitch.state()).toBe('off');
  await localSwitch.turn(null);
  expect(localSwitch.state()).toBe('off');
  await localSwitch.turn(settings);
  expect(localSwitch.state()).toBe('on');
  await localSwitch.turn(null);
  await localSwitch.turn(null);
  expect(localSwitch.state()).toBe('leaving');
  await localSwitch.finish();
  expect(localSwitch.state()).toBe('off');
  expect(localSwitch.calls).toEqual(['worker 1 starts with 0', 'worker 1 retires']);
});

test('restarts the local worker for new settings, and when it is turned on again while leaving', async () => {
  const localSwitch = open();
  await localSwitch.turn(settings);
  await localSwitch.turn({ ...settings, gpus: '1' });
  await localSwitch.turn(null);
  await localSwitch.turn(settings);
  // The previous worker ends late and must not affect the new worker.
  await localSwitch.finish();
  expect(localSwitch.state()).toBe('on');
  expect(localSwitch.calls).toEqual([
    'worker 1 starts with 0',
    'worker 1 stops',
    'worker 2 starts with 1',
    'worker 2 retires',
    'worker 2 stops',
    'worker 3 starts with 0',
  ]);
});

test('stops the local worker immediately when the orchestrator stops', async () => {
  const localSwitch = open();
  await localSwitch.turn(settings);
  await localSwitch.turn(null);
  await localSwitch.close();
  await localSwitch.turn(settings);
  expect(localSwitch.calls).toEqual(['worker 1 starts with 0', 'worker 1 retires', 'worker 1 stops']);
});
