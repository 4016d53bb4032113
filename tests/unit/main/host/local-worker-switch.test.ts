/** Turning the local worker on and off. The workers are fake. */
import { expect, test } from 'vitest';
import { createLocalWorkerSwitch } from '../../../../main/host/local-worker-switch.ts';

const settings = { gpus: '0', trainer: null, workDir: null };

function open() {
  const told: string[] = [];
  const ends: (() => void)[] = [];
  let count = 0;
  const lever = createLocalWorkerSwitch(({ gpus }) => {
    count += 1;
    const name = `worker ${count}`;
    told.push(`${name} starts with ${gpus}`);
    return {
      async stop() {
        told.push(`${name} stops`);
      },
      retire() {
        told.push(`${name} retires`);
        return new Promise(resolve => ends.push(resolve));
      },
    };
  });
  return {
    ...lever,
    told,
    /** The job of the one that is about to leave is done. */
    async finish() {
      ends.shift()?.();
      await Promise.resolve();
      await Promise.resolve();
    },
  };
}

test('it is off, on, leaving while its job lasts, and off', async () => {
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
  expect(lever.told).toEqual(['worker 1 starts with 0', 'worker 1 retires']);
});

test('other settings start it anew, and so does a change of mind', async () => {
  const lever = open();
  await lever.turn(settings);
  await lever.turn({ ...settings, gpus: '1' });
  await lever.turn(null);
  await lever.turn(settings);
  // The one before has nothing to say any more.
  await lever.finish();
  expect(lever.state()).toBe('on');
  expect(lever.told).toEqual([
    'worker 1 starts with 0',
    'worker 1 stops',
    'worker 2 starts with 1',
    'worker 2 retires',
    'worker 2 stops',
    'worker 3 starts with 0',
  ]);
});

test('the end of the orchestrator has it leave at once, also one that was about to', async () => {
  const lever = open();
  await lever.turn(settings);
  await lever.turn(null);
  await lever.close();
  await lever.turn(settings);
  expect(lever.told).toEqual(['worker 1 starts with 0', 'worker 1 retires', 'worker 1 stops']);
});
