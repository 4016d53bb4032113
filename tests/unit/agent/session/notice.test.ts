import { describe, expect, it } from 'vitest';
import { startClosable } from './closing-bench.ts';

const notice = { type: 'notice', ends_in_s: 120, reason: 'The machine is given back' } as const;

/** Starts an agent with a running job. */
async function startBusy(options: Parameters<typeof startClosable>[0] = {}) {
  const bench = await startClosable(options);
  await bench.offer('1');
  const [run] = bench.runs;
  if (run === undefined) throw new Error('the trainer actions not start');
  return { ...bench, run };
}

describe('sources of a notice', () => {
  it.each<[string, (bench: Awaited<ReturnType<typeof startBusy>>) => unknown]>([
    ['a signal', ({ agent }) => agent.notice('SIGUSR1')],
    ['a command on the stream', ({ push }) => push(notice)],
    [
      'a heartbeat reply',
      ({ world, advance }) => {
        world.notice = notice;
        return advance(35);
      },
    ],
  ])('saves, stops, reports and leaves after %s', async (_what, announce) => {
    const bench = await startBusy();
    await announce(bench);
    const { actions, run, world, advance, endStopped, exit, lastReport, closings } = bench;
    await advance(2);
    expect(actions.filter(line => line.includes('ask'))).toHaveLength(1);
    expect(run.stops).toEqual([]);
    expect(closings.at(-1)).toMatchObject({ reason: 'notice', opens_at: null });
    world.saved = 'newer';
    await advance(2);
    expect(run.orders).toEqual(['leave_now']);
    await endStopped();
    expect(lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true, exit_code: 143 });
    await advance(10);
    expect(exit.code).toBe(0);
    expect(actions.at(-1)).toMatch(/goodbye$/);
  });

  it('leaves at once without a job', async () => {
    const bench = await startClosable();
    await bench.push(notice);
    await bench.advance(3);
    expect(bench.exit.code).toBe(0);
    expect(bench.runs).toEqual([]);
  });

  it('takes no other job, during its job and afterwards', async () => {
    const bench = await startBusy();
    await bench.push(notice);
    await bench.offer('2');
    bench.world.saved = 'newer';
    await bench.advance(2);
    await bench.endStopped();
    await bench.advance(10);
    expect(bench.runs).toHaveLength(1);
    expect(bench.actions.filter(line => line.includes('a2'))).toEqual([]);
  });

  it('takes the earliest end of several notices', async () => {
    const { push, world, run, advance } = await startBusy();
    world.saved = 'earlier';
    await push({ ...notice, ends_in_s: 600 });
    await push({ ...notice, ends_in_s: 60 });
    await push({ ...notice, ends_in_s: 600 });
    await advance(34);
    expect(run.stops).toEqual([]);
    await advance(2);
    expect(run.stops).toHaveLength(1);
  });

  it('reports nothing about closing without a notice', async () => {
    const { closings, advance } = await startClosable();
    await advance(100);
    expect(closings.length).toBeGreaterThan(2);
    expect(new Set(closings)).toEqual(new Set([undefined]));
  });
});

describe('the job on notice', () => {
  it('stops the trainer before the end when the checkpoint is not uploaded in time', async () => {
    const bench = await startBusy();
    await bench.push(notice);
    // 120 s, less 20 s of grace and 5 s to report.
    await bench.advance(94);
    expect(bench.run.stops).toEqual([]);
    await bench.advance(2);
    expect(bench.run.stops[0]).toBeLessThanOrEqual(20_000);
    expect(bench.run.stoppedAt()).toBe(95);
    await bench.endStopped();
    expect(bench.actions).toContainEqual(expect.stringMatching(/ rescue killed for /));
    expect(bench.lastReport()).toMatchObject({ cause: 'preempted', saved: false });
    expect(bench.lastReport()?.error).toContain('The machine is given back. Training exited with code 143');
  });

  it('counts an earlier checkpoint of the attempt as saved', async () => {
    const bench = await startBusy();
    bench.world.saved = 'earlier';
    await bench.push(notice);
    await bench.advance(96);
    await bench.endStopped();
    expect(bench.lastReport()).toMatchObject({ cause: 'preempted', saved: true });
  });

  it('divides a short notice, so that half of it is for saving', async () => {
    const bench = await startBusy();
    await bench.push({ ...notice, ends_in_s: 30 });
    await bench.advance(14);
    expect(bench.run.stops).toEqual([]);
    await bench.advance(2);
    expect(bench.run.stoppedAt()).toBe(15);
    expect(bench.run.stops[0]).toBeLessThanOrEqual(10_000);
  });

  it('stops the trainer at once when there is no time left', async () => {
    const bench = await startBusy();
    await bench.push({ ...notice, ends_in_s: 0 });
    await bench.advance(1);
    expect(bench.run.stops).toHaveLength(1);
  });

  it('asks the trainer to save again while it cannot accept the request', async () => {
    const bench = await startBusy();
    bench.world.answer = 'later';
    await bench.push(notice);
    await bench.advance(12);
    expect(bench.actions.filter(line => line.includes('ask'))).toHaveLength(3);
    bench.world.answer = 'asked';
    await bench.advance(60);
    expect(bench.actions.filter(line => line.includes('ask'))).toHaveLength(4);
  });

  it('keeps training until the announced end when its trainer cannot save on request, and saves what it wrote', async () => {
    const bench = await startBusy();
    bench.world.answer = 'never';
    await bench.push(notice);
    await bench.advance(90);
    expect(bench.run.stops).toEqual([]);
    await bench.advance(6);
    expect(bench.run.stops).toHaveLength(1);
    await bench.endStopped();
    expect(bench.actions).toContainEqual(expect.stringMatching(/ rescue preempted for /));
  });

  it('stops a trainer that cannot save on request at once after a signal', async () => {
    const bench = await startBusy();
    bench.world.answer = 'never';
    bench.agent.notice('SIGUSR1');
    await bench.advance(1);
    expect(bench.run.stops).toHaveLength(1);
  });

  it('gives the trainer half a minute to save when the worker uploads nothing', async () => {
    const bench = await startBusy({ uploads: false });
    await bench.push(notice);
    await bench.advance(29);
    expect(bench.run.stops).toEqual([]);
    await bench.advance(2);
    expect(bench.run.stops).toHaveLength(1);
  });

  it('stops a job whose trainer is still starting', async () => {
    const bench = await startClosable();
    const gate = Promise.withResolvers<void>();
    bench.world.gate = gate.promise;
    await bench.offer('1');
    await bench.push(notice);
    gate.resolve();
    await bench.clock.settle();
    expect(bench.runs[0]?.orders).toEqual(['leave_now']);
    await bench.endStopped();
    expect(bench.lastReport()).toMatchObject({ cause: 'preempted', saved: false });
    expect(bench.actions.filter(line => line.includes('ask'))).toEqual([]);
  });

  it('completes the job when its trainer finishes during the notice', async () => {
    const bench = await startBusy();
    await bench.push(notice);
    await bench.advance(5);
    bench.run.end(0);
    await bench.advance(10);
    expect(bench.lastReport()).toMatchObject({ status: 'completed' });
    expect(bench.exit.code).toBe(0);
  });

  it('reports a stopped trainer that exits with 0 before its last step as preempted', async () => {
    const bench = await startBusy();
    bench.run.ears.onProgress({ step: 10, total_steps: 100 });
    bench.world.saved = 'newer';
    await bench.push(notice);
    await bench.advance(2);
    bench.run.end(0, null, '', { stopped: 'leave_now' });
    await bench.clock.settle();
    expect(bench.lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true });
  });

  it('cancels the job when it is cancelled during the notice', async () => {
    const bench = await startBusy();
    await bench.push(notice);
    await bench.advance(2);
    const cancel = { type: 'job_cancel', job_id: 'j1', attempt_id: 'a1' };
    await bench.push(cancel as Parameters<typeof bench.push>[0]);
    await bench.endStopped();
    expect(bench.run.orders[0]).toBe('cancel');
    expect(bench.lastReport()).toMatchObject({ status: 'cancelled' });
  });

  it('exits at the end of the notice although the server cannot be reached', async () => {
    const bench = await startBusy();
    await bench.push(notice);
    bench.world.isReachable = false;
    await bench.advance(96);
    await bench.endStopped();
    await bench.advance(30);
    expect(bench.exit.code).toBe(0);
  });
});

describe('a worker with an allocation', () => {
  const allocation = { ends_in_s: 3_600, notice_s: 120 };

  it('starts the notice on time without contact to the server', async () => {
    const { world, advance, actions, run } = await startBusy({ allocation });
    await advance(600);
    world.isReachable = false;
    await advance(2_875);
    expect(actions.filter(line => line.includes('ask'))).toEqual([]);
    await advance(10);
    expect(actions.filter(line => line.includes('ask'))).toEqual(['3480 ask save']);
    await advance(95);
    expect(run.stoppedAt()).toBe(3_575);
  });

  it('starts the notice earlier when the last save took long', async () => {
    const { world, advance, actions } = await startBusy({ allocation });
    await advance(60);
    world.saveMs = 300_000;
    await advance(2_960);
    expect(actions.filter(line => line.includes('ask'))).toEqual(['3000 ask save']);
  });

  it('starts the notice no earlier than after half of the allocation', async () => {
    const { world, advance, actions } = await startBusy({ allocation });
    world.saveMs = 86_400_000;
    await advance(1_700);
    expect(actions.filter(line => line.includes('ask'))).toEqual([]);
    await advance(150);
    expect(actions.filter(line => line.includes('ask'))).toHaveLength(1);
  });

  it('lets an idle worker leave when the notice starts', async () => {
    const { advance, exit } = await startClosable({ allocation });
    await advance(3_470);
    expect(exit.code).toBeNull();
    await advance(20);
    expect(exit.code).toBe(0);
  });

  it('applies the notice of the allocation after a signal', async () => {
    const { agent, advance, run } = await startBusy({ allocation: { ends_in_s: 3_600, notice_s: 60 } });
    agent.notice('SIGUSR1');
    await advance(36);
    expect(run.stoppedAt()).toBe(35);
  });

  it('makes an idle worker leave after 15 minutes without contact', async () => {
    const { world, advance, exit, logged } = await startClosable({
      allocation: { ends_in_s: 86_400, notice_s: 120 },
    });
    await advance(100);
    world.isReachable = false;
    await advance(14 * 60);
    expect(exit.code).toBeNull();
    await advance(120);
    expect(exit.code).toBe(0);
    expect(logged).toContainEqual(expect.stringContaining('has not answered for 15 minutes'));
  });

  it('keeps running without contact when it has a job, or no allocation', async () => {
    const withoutAllocation = await startClosable();
    const busy = await startBusy({ allocation: { ends_in_s: 86_400, notice_s: 120 } });
    for (const { world, advance } of [withoutAllocation, busy]) {
      world.isReachable = false;
      await advance(3_600);
    }
    expect([withoutAllocation.exit.code, busy.exit.code]).toEqual([null, null]);
  });
});

describe('hours of a rig', () => {
  const hours = {
    reason: 'hours',
    detail: 'Closed until 20:00',
    opens_at: '2026-01-01T20:00:00.000Z',
  } as const;
  const inUse = { reason: 'in_use', detail: 'Somebody is here', opens_at: null } as const;

  it('saves and stops the job, and keeps the worker connected when the hours end', async () => {
    const bench = await startBusy({ closed: null });
    expect(bench.closings.at(-1)).toBeNull();
    await bench.setClosed(hours);
    expect(bench.closings.at(-1)).toEqual(hours);
    bench.world.saved = 'newer';
    await bench.advance(2);
    await bench.endStopped();
    expect(bench.lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true });
    expect(bench.lastReport()?.error).toContain('Closed until 20:00');
    await bench.offer('2');
    await bench.advance(3_600);
    expect(bench.runs).toHaveLength(1);
    expect(bench.exit.code).toBeNull();
    await bench.setClosed(null);
    expect(bench.closings.at(-1)).toBeNull();
    await bench.offer('3');
    expect(bench.runs).toHaveLength(2);
  });

  it('reports closed hours in the first registration', async () => {
    const { closings } = await startClosable({ closed: hours });
    expect(closings[0]).toEqual(hours);
  });

  it('gives a job at most ten minutes after the hours end', async () => {
    const bench = await startBusy({ closed: null });
    await bench.setClosed(hours);
    await bench.advance(574);
    expect(bench.run.stops).toEqual([]);
    await bench.advance(2);
    expect(bench.run.stops).toHaveLength(1);
  });

  it('stops a trainer that cannot save on request at once while somebody uses the machine', async () => {
    const bench = await startBusy({ closed: null });
    bench.world.answer = 'never';
    await bench.setClosed(inUse);
    await bench.advance(1);
    expect(bench.run.stops).toHaveLength(1);
  });

  it('gives a notice precedence over closed hours', async () => {
    const bench = await startBusy({ closed: null });
    await bench.setClosed(hours);
    await bench.push(notice);
    expect(bench.closings.at(-1)).toMatchObject({ reason: 'notice' });
    await bench.advance(96);
    await bench.endStopped();
    await bench.advance(10);
    expect(bench.exit.code).toBe(0);
  });
});
