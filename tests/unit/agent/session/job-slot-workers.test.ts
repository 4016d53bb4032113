/** Tests how the job slot of one worker takes part in an attempt on several workers. The first worker has rank 0. */
import { describe, expect, it } from 'vitest';
import type { SlotDeps } from '../../../../agent/session/job-slot.ts';
import type { StatusReportBody } from '../../../../protocol/worker-api.ts';
import { attemptId, jobId, offerOf, scriptJob } from '../builders.ts';
import { endRun, newest, flushCallbacks } from '../controlled-runs.ts';
import { createSlotFixture, type SlotFixture } from '../slot-fixture.ts';

const rendezvous = { address: 'rig-0.example.org', port: 29_501 };
const offerFor = (rank: number, fields: Parameters<typeof offerOf>[2] = {}) =>
  offerOf('j1', 'a1', { node: { rank, count: 3 }, gpus: [0, 1], ...fields });
/** The options of accelerate whose values each machine adds. */
const options = ['--machine_rank=', '--main_process_ip=', '--main_process_port='];

/** Creates a slot that has claimed an attempt whose job was prepared for several machines. */
async function startOffered(rank: number, overrides: Partial<SlotDeps> = {}, fields = {}) {
  const followed: string[] = [];
  const fixture: SlotFixture = createSlotFixture({
    prepare: () => ({ ok: true, job: { ...scriptJob('/nowhere', ''), argv: ['train', ...options] } }),
    logs: { follow: () => void followed.push('log'), finish: () => {}, keepFor: () => {} },
    outputs: {
      follow: async () => void followed.push('outputs'),
      finish: () => false,
      rescue: async () => {},
      hasten: () => true,
      saved: () => 'newer',
    },
    curve: () => {
      followed.push('curve');
      return { ready: Promise.resolve(), note: () => {}, finish: () => {}, done: Promise.resolve(true) };
    },
    ...overrides,
  });
  fixture.slot.offer(offerFor(rank, fields));
  await newest(fixture.reports).answer('taken');
  return { ...fixture, followed };
}

type Fixture = Awaited<ReturnType<typeof startOffered>>;

/** Creates a slot that has reported its machine as ready, and waits for the other machines. */
async function startWaiting(rank: number, overrides: Partial<SlotDeps> = {}) {
  const fixture = await startOffered(rank, overrides);
  await newest(fixture.reports).answer('taken');
  return fixture;
}

/** Sends the rendezvous to the slot. */
async function sendRendezvous({ slot }: Pick<Fixture, 'slot'>): Promise<void> {
  slot.rendezvous(attemptId('a1'), rendezvous);
  await flushCallbacks();
}

/** Creates a slot whose trainer runs after the rendezvous. */
async function startRunning(rank: number, overrides: Partial<SlotDeps> = {}) {
  const fixture = await startWaiting(rank, overrides);
  await sendRendezvous(fixture);
  return { ...fixture, run: newest(fixture.runs) };
}

const reportBodies = ({ reports }: Fixture): readonly StatusReportBody[] => reports.map(({ body }) => body);
const starting = { status: 'starting' };
const ready = { status: 'starting', ready: { address: '192.0.2.1', port: 29_500 } };

describe('start of an attempt on several workers', () => {
  it('reports that the machine is ready, and starts no trainer before the rendezvous', async () => {
    const fixture = await startWaiting(1);
    expect(reportBodies(fixture)).toEqual([starting, ready]);
    await flushCallbacks();
    expect(fixture.actions).toEqual([]);
    expect(fixture.logLines).toEqual(['Job j1 is ready on this machine (2 of 3), and waits for the others']);
  });

  it.each([0, 2])(
    'starts the trainer of rank %d with the variables and options of the rendezvous',
    async rank => {
      const fixture = await startRunning(rank);
      const [job] = fixture.jobs;
      expect(job?.argv).toEqual([
        'train',
        `--machine_rank=${rank}`,
        '--main_process_ip=rig-0.example.org',
        '--main_process_port=29501',
      ]);
      expect(job?.env).toMatchObject({
        MASTER_ADDR: 'rig-0.example.org',
        MASTER_PORT: '29501',
        NNODES: '3',
        NODE_RANK: String(rank),
        RANK: String(2 * rank),
        WORLD_SIZE: '6',
        TRAINYARD_PROCESSES_PER_NODE: '2',
      });
      expect(fixture.origins).toMatchObject([{ attemptId: 'a1', rank }]);
      expect(newest(fixture.progressReports)).toMatchObject({ status: 'running' });
    },
  );

  it('starts the trainer after the response to the ready report when the rendezvous arrives earlier', async () => {
    const fixture = await startOffered(1);
    await sendRendezvous(fixture);
    expect(fixture.runs).toEqual([]);
    await newest(fixture.reports).answer('taken');
    expect(fixture.runs).toHaveLength(1);
  });

  it('starts one trainer when the rendezvous is repeated, and reports running again', async () => {
    const fixture = await startRunning(1);
    fixture.slot.rendezvous(attemptId('a1'), { ...rendezvous, address: 'elsewhere' });
    await sendRendezvous(fixture);
    expect(fixture.runs).toHaveLength(1);
    expect(fixture.jobs[0]?.env['MASTER_ADDR']).toBe('rig-0.example.org');
    expect(fixture.progressReports).toEqual([
      { status: 'running' },
      { status: 'running' },
      { status: 'running' },
    ]);
  });

  it('ignores the rendezvous of another attempt', async () => {
    const fixture = await startWaiting(1);
    fixture.slot.rendezvous(attemptId('a0'), rendezvous);
    await flushCallbacks();
    expect(fixture.runs).toEqual([]);
    createSlotFixture().slot.rendezvous(attemptId('a1'), rendezvous);
  });

  it('fetches data and checkpoint before it reports that the machine is ready', async () => {
    const actions: string[] = [];
    const recordFetch = (name: string) => async () => {
      actions.push(name);
      return { kind: 'ready' as const, message: name };
    };
    const resume = { checkpoint: 'checkpoint-5', step: 5 };
    const data = [{ path: '/data/dog', version: 'f'.repeat(64), is_file: false }];
    const overrides = { fetchData: recordFetch('data'), fetchCheckpoint: recordFetch('checkpoint') };
    const fixture = await startOffered(1, overrides, { resume, data });
    expect(actions).toEqual(['data', 'checkpoint']);
    expect(newest(fixture.reports).body).toEqual(ready);
  });

  it('reports the stage "Waiting for the other machines" only from the first machine', async () => {
    const [first, second] = [await startWaiting(0), await startWaiting(1)];
    expect(first.slot.progress()).toEqual({ stage: 'Waiting for the other machines' });
    expect(first.progressReports).toEqual([{ status: 'starting', progress: first.slot.progress() }]);
    await sendRendezvous(first);
    expect(first.slot.progress()).toEqual({});
    expect([second.slot.progress(), second.progressReports]).toEqual([null, []]);
  });

  it('frees the slot without a report when the orchestrator refuses the ready report', async () => {
    const fixture = await startOffered(1);
    await newest(fixture.reports).answer('refused');
    expect(fixture.actions).toEqual(['free false']);
    expect(reportBodies(fixture)).toEqual([starting, ready]);
    expect(fixture.slot.held()).toBeNull();
  });

  it('reports a failed start when the machine has no free port', async () => {
    const fixture = await startOffered(1, { reachable: () => Promise.reject(new Error('EMFILE')) });
    expect(newest(fixture.reports).body).toMatchObject({ status: 'failed', cause: 'start_failed' });
  });
});

describe('stops while the slot waits for other workers', () => {
  const cancel = ({ slot }: Fixture): void => slot.cancel({ jobId: jobId('j1'), attemptId: attemptId('a1') });
  const cases = Object.entries({
    'the ready report is answered': startOffered,
    'all machines are ready': startWaiting,
  });

  it.each(cases)('reports cancelled after a cancel before %s', async (_phase, startSlot) => {
    const fixture = await startSlot(1);
    cancel(fixture);
    await flushCallbacks();
    expect(newest(fixture.reports).body).toEqual({ status: 'cancelled' });
    await newest(fixture.reports).answer('taken');
    await sendRendezvous(fixture);
    expect(fixture.actions).toEqual(['keep a1 cancelled', 'drop a1', 'free true']);
  });

  it.each(cases)('sends no report when the job is abandoned before %s', async (_phase, startSlot) => {
    const fixture = await startSlot(1);
    fixture.slot.abandon(jobId('j1'));
    await flushCallbacks();
    expect(reportBodies(fixture)).toEqual([starting, ready]);
    expect(fixture.actions).toEqual(['drop a1', 'free true']);
  });

  it.each(cases)('reports preempted when the worker leaves before %s', async (_phase, startSlot) => {
    const fixture = await startSlot(1);
    fixture.slot.leaveNow();
    await flushCallbacks();
    expect(newest(fixture.reports).body).toMatchObject({ status: 'failed', cause: 'preempted' });
  });

  it.each(cases)('sends no report when the agent ends before %s', async (_phase, startSlot) => {
    const fixture = await startSlot(1);
    fixture.slot.release();
    await flushCallbacks();
    expect(reportBodies(fixture)).toEqual([starting, ready]);
    expect(fixture.actions).toEqual(['free true']);
  });

  it.each([
    [0, { saved: false }],
    [1, {}],
  ])('reports preempted on rank %d when the rig closes while the slot waits', async (rank, savedField) => {
    const fixture = await startWaiting(rank);
    fixture.slot.preempt({ reason: 'Closed', endsAt: performance.now() + 60_000, mayWait: true });
    await flushCallbacks();
    const { progress: _, ...body } = newest(fixture.reports).body;
    expect(body).toEqual({
      status: 'failed',
      cause: 'preempted',
      error: 'Closed. The training was not started',
      ...savedField,
    });
  });

  it('starts no trainer when a cancel arrives together with the rendezvous', async () => {
    const fixture = await startWaiting(1);
    fixture.slot.rendezvous(attemptId('a1'), rendezvous);
    cancel(fixture);
    await flushCallbacks();
    expect(fixture.runs).toEqual([]);
    expect(newest(fixture.reports).body).toEqual({ status: 'cancelled' });
  });
});

describe('output of an attempt on several workers', () => {
  it('sends log, curve, outputs and progress from the first machine', async () => {
    const { followed, run, slot, progressReports } = await startRunning(0);
    expect(followed).toEqual(['curve', 'outputs', 'log']);
    run.listeners.onProgress({ step: 7 });
    expect(slot.progress()).toEqual({ step: 7 });
    expect(newest(progressReports)).toEqual({ status: 'running', progress: { step: 7 } });
  });

  it('sends no log, curve, outputs or progress from another machine', async () => {
    const fixture = await startRunning(1);
    const { run, slot, progressReports, followed } = fixture;
    run.listeners.onProgress({ step: 7, total_steps: 10 });
    run.listeners.onStage?.({ stage: 'Training', line: 'epoch 1' });
    run.listeners.onFigures({ progress: { step: 7 }, gaps: [] }, false);
    expect(slot.progress()).toBeNull();
    expect(progressReports).toEqual([{ status: 'running' }]);
    await endRun(run, 0);
    expect(newest(fixture.reports).body).toEqual({ status: 'completed', exit_code: 0, signal: null });
    expect(followed).toEqual([]);
  });
});

describe('end of a machine that is not the first', () => {
  it('reports the exit code and the output of the trainer of rank 2', async () => {
    const fixture = await startRunning(2);
    await endRun(fixture.run, 1, null, 'NCCL error');
    expect(newest(fixture.reports).body).toEqual({
      status: 'failed',
      error: 'Training exited with code 1\nNCCL error',
      exit_code: 1,
      signal: null,
    });
  });

  it.each([0, 143])('reports cancelled when a cancelled trainer exits with %d', async code => {
    const fixture = await startRunning(1);
    fixture.slot.cancel({ jobId: jobId('j1'), attemptId: attemptId('a1') });
    expect(fixture.run.orders).toEqual(['cancel']);
    await endRun(fixture.run, code, null, '', { stopped: 'cancel' });
    expect(newest(fixture.reports).body).toMatchObject({ status: 'cancelled', exit_code: code });
  });

  it.each([0, 143])(
    'reports preempted without a save request when the rig closes, with exit code %d',
    async code => {
      const requests: string[] = [];
      const fixture = await startRunning(1, {
        ask: async (_attempt, what) => {
          requests.push(what);
          return 'asked';
        },
      });
      fixture.slot.preempt({ reason: 'Closed', endsAt: performance.now() + 60_000, mayWait: true });
      await flushCallbacks();
      expect([requests, fixture.run.orders]).toEqual([[], ['leave_now']]);
      await endRun(fixture.run, code, null, '', { stopped: 'leave_now' });
      const { body } = newest(fixture.reports);
      expect(body).toMatchObject({ status: 'failed', cause: 'preempted', exit_code: code });
      expect(body).not.toHaveProperty('saved');
    },
  );

  it('reports preempted when a trainer that was stopped with its worker exits with 0', async () => {
    const fixture = await startRunning(1);
    fixture.slot.leaveNow();
    await endRun(fixture.run, 0, null, '', { stopped: 'leave_now' });
    expect(newest(fixture.reports).body).toMatchObject({
      status: 'failed',
      cause: 'preempted',
      error: 'The worker was stopped. Training exited with code 0',
    });
  });

  it('reports completed when the trainer exits with 0 before the stop reaches the trainer', async () => {
    const fixture = await startRunning(1);
    fixture.slot.leaveNow();
    await endRun(fixture.run, 0);
    expect(newest(fixture.reports).body).toMatchObject({ status: 'completed' });
  });
});
