import { describe, expect, it } from 'vitest';
import { startClosable } from './closing-fixture.ts';

const notice = { type: 'notice', ends_in_s: 120, reason: 'The machine is given back' } as const;

/** Starts an agent with a running job on virtual time. */
async function startAgentWithJob(options: Parameters<typeof startClosable>[0] = {}) {
  const fixture = await startClosable(options);
  await fixture.offer('1');
  const [run] = fixture.runs;
  if (run === undefined) throw new Error('the trainer did not start');
  return { ...fixture, run };
}

describe('sources of a notice', () => {
  it.each<[string, (fixture: Awaited<ReturnType<typeof startAgentWithJob>>) => unknown]>([
    ['a signal', ({ agent }) => agent.notice('SIGUSR1')],
    ['a command on the stream', ({ push }) => push(notice)],
    [
      'a heartbeat reply',
      ({ environment, advance }) => {
        environment.notice = notice;
        return advance(35);
      },
    ],
  ])('saves and stops the job, reports it as preempted, and leaves after %s', async (_title, announce) => {
    const fixture = await startAgentWithJob();
    await announce(fixture);
    const { actions, run, environment, advance, endStopped, exit, lastReport, reportedClosed } = fixture;
    await advance(2);
    expect(actions.filter(line => line.includes('ask'))).toHaveLength(1);
    expect(run.stops).toEqual([]);
    expect(reportedClosed.at(-1)).toMatchObject({ reason: 'notice', opens_at: null });
    environment.saved = 'newer';
    await advance(2);
    expect(run.orders).toEqual(['leave_now']);
    await endStopped();
    expect(lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true, exit_code: 143 });
    await advance(10);
    expect(exit.code).toBe(0);
    expect(actions.at(-1)).toMatch(/disconnect$/);
  });

  it('leaves immediately after a notice when it has no job', async () => {
    const fixture = await startClosable();
    await fixture.push(notice);
    await fixture.advance(3);
    expect(fixture.exit.code).toBe(0);
    expect(fixture.runs).toEqual([]);
  });

  it('accepts no other job after a notice', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push(notice);
    await fixture.offer('2');
    fixture.environment.saved = 'newer';
    await fixture.advance(2);
    await fixture.endStopped();
    await fixture.advance(10);
    expect(fixture.runs).toHaveLength(1);
    expect(fixture.actions.filter(line => line.includes('a2'))).toEqual([]);
  });

  it('uses the earliest end of several notices', async () => {
    const { push, environment, run, advance } = await startAgentWithJob();
    environment.saved = 'earlier';
    await push({ ...notice, ends_in_s: 600 });
    await push({ ...notice, ends_in_s: 60 });
    await push({ ...notice, ends_in_s: 600 });
    // The earliest end is in 60 s. The stop is 25 s earlier: 20 s of grace period and 5 s for the report.
    await advance(34);
    expect(run.stops).toEqual([]);
    await advance(2);
    expect(run.stops).toHaveLength(1);
  });

  it('omits the field "closed" from registrations and heartbeats without a notice and without hours', async () => {
    const { reportedClosed, advance } = await startClosable();
    await advance(100);
    expect(reportedClosed.length).toBeGreaterThan(2);
    expect(new Set(reportedClosed)).toEqual(new Set([undefined]));
  });
});

describe('a job during a notice', () => {
  it('stops the trainer 25 s before the end of the notice when no checkpoint is uploaded in time', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push(notice);
    // The notice ends in 120 s. The stop is 25 s earlier: 20 s of grace period and 5 s for the report.
    await fixture.advance(94);
    expect(fixture.run.stops).toEqual([]);
    await fixture.advance(2);
    expect(fixture.run.stops[0]).toBeLessThanOrEqual(20_000);
    expect(fixture.run.stoppedAt()).toBe(95);
    await fixture.endStopped();
    expect(fixture.actions).toContainEqual(expect.stringMatching(/ rescue killed for /));
    expect(fixture.lastReport()).toMatchObject({ cause: 'preempted', saved: false });
    expect(fixture.lastReport()?.error).toContain('The machine is given back. Training exited with code 143');
  });

  it('counts an earlier checkpoint of the attempt as saved', async () => {
    const fixture = await startAgentWithJob();
    fixture.environment.saved = 'earlier';
    await fixture.push(notice);
    await fixture.advance(96);
    await fixture.endStopped();
    expect(fixture.lastReport()).toMatchObject({ cause: 'preempted', saved: true });
  });

  it('gives the trainer half of the time of a short notice to save', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push({ ...notice, ends_in_s: 30 });
    await fixture.advance(14);
    expect(fixture.run.stops).toEqual([]);
    await fixture.advance(2);
    expect(fixture.run.stoppedAt()).toBe(15);
    expect(fixture.run.stops[0]).toBeLessThanOrEqual(10_000);
  });

  it('stops the trainer immediately when there is no time left', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push({ ...notice, ends_in_s: 0 });
    await fixture.advance(1);
    expect(fixture.run.stops).toHaveLength(1);
  });

  it('repeats the request to save until the trainer accepts it', async () => {
    const fixture = await startAgentWithJob();
    fixture.environment.answer = 'later';
    await fixture.push(notice);
    await fixture.advance(12);
    expect(fixture.actions.filter(line => line.includes('ask'))).toHaveLength(3);
    fixture.environment.answer = 'asked';
    await fixture.advance(60);
    expect(fixture.actions.filter(line => line.includes('ask'))).toHaveLength(4);
  });

  it('continues a training that cannot save on request almost until the end, and uploads its last checkpoint', async () => {
    const fixture = await startAgentWithJob();
    fixture.environment.answer = 'never';
    await fixture.push(notice);
    await fixture.advance(90);
    expect(fixture.run.stops).toEqual([]);
    await fixture.advance(6);
    expect(fixture.run.stops).toHaveLength(1);
    await fixture.endStopped();
    expect(fixture.actions).toContainEqual(expect.stringMatching(/ rescue preempted for /));
  });

  it('stops a trainer that cannot save on request immediately after a notice signal', async () => {
    const fixture = await startAgentWithJob();
    fixture.environment.answer = 'never';
    fixture.agent.notice('SIGUSR1');
    await fixture.advance(1);
    expect(fixture.run.stops).toHaveLength(1);
  });

  it('gives the trainer 30 s to save when the worker uploads no outputs', async () => {
    const fixture = await startAgentWithJob({ uploads: false });
    await fixture.push(notice);
    await fixture.advance(29);
    expect(fixture.run.stops).toEqual([]);
    await fixture.advance(2);
    expect(fixture.run.stops).toHaveLength(1);
  });

  it('stops a trainer that was starting when the notice arrived', async () => {
    const fixture = await startClosable();
    const startGate = Promise.withResolvers<void>();
    fixture.environment.startGate = startGate.promise;
    await fixture.offer('1');
    await fixture.push(notice);
    startGate.resolve();
    await fixture.clock.settle();
    expect(fixture.runs[0]?.orders).toEqual(['leave_now']);
    await fixture.endStopped();
    expect(fixture.lastReport()).toMatchObject({ cause: 'preempted', saved: false });
    expect(fixture.actions.filter(line => line.includes('ask'))).toEqual([]);
  });

  it('completes the job when its trainer finishes during the notice', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push(notice);
    await fixture.advance(5);
    fixture.run.end(0);
    await fixture.advance(10);
    expect(fixture.lastReport()).toMatchObject({ status: 'completed' });
    expect(fixture.exit.code).toBe(0);
  });

  it('reports a stopped trainer that exits with 0 before its last step as preempted', async () => {
    const fixture = await startAgentWithJob();
    fixture.run.listeners.onProgress({ step: 10, total_steps: 100 });
    fixture.environment.saved = 'newer';
    await fixture.push(notice);
    await fixture.advance(2);
    fixture.run.end(0, null, '', { stopped: 'leave_now' });
    await fixture.clock.settle();
    expect(fixture.lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true });
  });

  it('reports cancelled when the job is cancelled during the notice', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push(notice);
    await fixture.advance(2);
    const cancel = { type: 'job_cancel', job_id: 'j1', attempt_id: 'a1' };
    await fixture.push(cancel as Parameters<typeof fixture.push>[0]);
    await fixture.endStopped();
    expect(fixture.run.orders[0]).toBe('cancel');
    expect(fixture.lastReport()).toMatchObject({ status: 'cancelled' });
  });

  it('exits after the notice although the server is unreachable', async () => {
    const fixture = await startAgentWithJob();
    await fixture.push(notice);
    fixture.environment.isReachable = false;
    await fixture.advance(96);
    await fixture.endStopped();
    await fixture.advance(30);
    expect(fixture.exit.code).toBe(0);
  });
});

describe('a worker with an allocation', () => {
  /** The scheduler gives the machine to the worker for an hour. The notice starts 120 s before the end. */
  const allocation = { ends_in_s: 3_600, notice_s: 120 };

  it('starts the notice before the end of the allocation without contact to the server', async () => {
    const { environment, advance, actions, run } = await startAgentWithJob({ allocation });
    await advance(600);
    environment.isReachable = false;
    // The notice starts at 3,480 s, 120 s before the end of the allocation.
    await advance(2_875);
    expect(actions.filter(line => line.includes('ask'))).toEqual([]);
    await advance(10);
    expect(actions.filter(line => line.includes('ask'))).toEqual(['3480 ask save']);
    await advance(95);
    expect(run.stoppedAt()).toBe(3_575);
  });

  it('starts the notice earlier when the last save took long', async () => {
    const { environment, advance, actions } = await startAgentWithJob({ allocation });
    await advance(60);
    environment.saveMs = 300_000;
    await advance(2_960);
    expect(actions.filter(line => line.includes('ask'))).toEqual(['3000 ask save']);
  });

  it('starts the notice no earlier than after half of the allocation', async () => {
    const { environment, advance, actions } = await startAgentWithJob({ allocation });
    environment.saveMs = 86_400_000;
    await advance(1_700);
    expect(actions.filter(line => line.includes('ask'))).toEqual([]);
    await advance(150);
    expect(actions.filter(line => line.includes('ask'))).toHaveLength(1);
  });

  it('exits an idle worker when the notice starts', async () => {
    const { advance, exit } = await startClosable({ allocation });
    await advance(3_470);
    expect(exit.code).toBeNull();
    await advance(20);
    expect(exit.code).toBe(0);
  });

  it('applies the notice time of the allocation after a notice signal', async () => {
    const { agent, advance, run } = await startAgentWithJob({
      allocation: { ends_in_s: 3_600, notice_s: 60 },
    });
    agent.notice('SIGUSR1');
    await advance(36);
    expect(run.stoppedAt()).toBe(35);
  });

  it('exits an idle worker after 15 minutes without contact', async () => {
    const { environment, advance, exit, logged } = await startClosable({
      allocation: { ends_in_s: 86_400, notice_s: 120 },
    });
    await advance(100);
    environment.isReachable = false;
    await advance(14 * 60);
    expect(exit.code).toBeNull();
    await advance(120);
    expect(exit.code).toBe(0);
    expect(logged).toContainEqual(expect.stringContaining('has not answered for 15 minutes'));
  });

  it('keeps running without contact when the worker has a job, or no allocation', async () => {
    const withoutAllocation = await startClosable();
    const withJob = await startAgentWithJob({ allocation: { ends_in_s: 86_400, notice_s: 120 } });
    for (const { environment, advance } of [withoutAllocation, withJob]) {
      environment.isReachable = false;
      await advance(3_600);
    }
    expect([withoutAllocation.exit.code, withJob.exit.code]).toEqual([null, null]);
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
    const fixture = await startAgentWithJob({ closed: null });
    expect(fixture.reportedClosed.at(-1)).toBeNull();
    await fixture.setClosed(hours);
    expect(fixture.reportedClosed.at(-1)).toEqual(hours);
    fixture.environment.saved = 'newer';
    await fixture.advance(2);
    await fixture.endStopped();
    expect(fixture.lastReport()).toMatchObject({ status: 'failed', cause: 'preempted', saved: true });
    expect(fixture.lastReport()?.error).toContain('Closed until 20:00');
    await fixture.offer('2');
    await fixture.advance(3_600);
    expect(fixture.runs).toHaveLength(1);
    expect(fixture.exit.code).toBeNull();
    await fixture.setClosed(null);
    expect(fixture.reportedClosed.at(-1)).toBeNull();
    await fixture.offer('3');
    expect(fixture.runs).toHaveLength(2);
  });

  it('reports in the first registration that the rig is closed', async () => {
    const { reportedClosed } = await startClosable({ closed: hours });
    expect(reportedClosed[0]).toEqual(hours);
  });

  it('gives a job at most ten minutes after the hours end', async () => {
    const fixture = await startAgentWithJob({ closed: null });
    await fixture.setClosed(hours);
    await fixture.advance(574);
    expect(fixture.run.stops).toEqual([]);
    await fixture.advance(2);
    expect(fixture.run.stops).toHaveLength(1);
  });

  it('stops a trainer that cannot save on request immediately when a user starts to use the machine', async () => {
    const fixture = await startAgentWithJob({ closed: null });
    fixture.environment.answer = 'never';
    await fixture.setClosed(inUse);
    await fixture.advance(1);
    expect(fixture.run.stops).toHaveLength(1);
  });

  it('leaves at the end of a notice that arrives while the rig is closed', async () => {
    const fixture = await startAgentWithJob({ closed: null });
    await fixture.setClosed(hours);
    await fixture.push(notice);
    expect(fixture.reportedClosed.at(-1)).toMatchObject({ reason: 'notice' });
    await fixture.advance(96);
    await fixture.endStopped();
    await fixture.advance(10);
    expect(fixture.exit.code).toBe(0);
  });
});
