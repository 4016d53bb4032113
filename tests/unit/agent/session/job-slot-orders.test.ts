import { describe, expect, it } from 'vitest';
import type { SlotDeps } from '../../../../agent/session/job-slot.ts';
import type { Run } from '../../../../agent/attempt/run.ts';
import type { FinalReport } from '../../../../agent/state/state-folder.ts';
import { attemptId, jobId, offerOf } from '../builders.ts';
import { endRun, controlRun, newest, flushCallbacks } from '../controlled-runs.ts';
import { createSlotFixture, type SlotFixture } from '../slot-fixture.ts';

const offer = offerOf('j1', 'a1');
/** Gives an order to the slot. */
type Order = (slot: SlotFixture['slot']) => void;
const cancel: Order = slot => slot.cancel({ jobId: jobId('j1'), attemptId: attemptId('a1') });
const abandon: Order = slot => slot.abandon(jobId('j1'));
const leaveNow: Order = slot => slot.leaveNow();

/** A slot with a claimed, running job. */
async function startRunning(overrides: Partial<SlotDeps> = {}): Promise<SlotFixture> {
  const fixture = createSlotFixture(overrides);
  fixture.slot.offer(offer);
  await newest(fixture.reports).answer('taken');
  return fixture;
}

describe('stops before the claim is answered', () => {
  it.each<[string, Order, object]>([
    ['a cancel', cancel, { status: 'cancelled' }],
    [
      'an order to leave',
      leaveNow,
      {
        status: 'failed',
        cause: 'preempted',
        error: 'The worker was stopped before the training was started',
      },
    ],
  ])(
    'starts no trainer and reports the end when %s arrives before the claim is answered',
    async (_title, order, expected) => {
      const { slot, reports, actions } = createSlotFixture();
      slot.offer(offer);
      order(slot);
      await newest(reports).answer('taken');
      expect(actions).toEqual([expect.stringMatching(/^keep a1 /)]);
      expect(newest(reports).body).toEqual(expected);
      await newest(reports).answer('taken');
      expect(newest(actions)).toBe('free true');
    },
  );

  it('aborts the claim when the job is abandoned', async () => {
    const { slot, reports, actions } = createSlotFixture();
    slot.offer(offer);
    abandon(slot);
    await flushCallbacks();
    expect(newest(reports).signal.aborted).toBe(true);
    expect(reports).toHaveLength(1);
    expect(actions).toEqual(['free false']);
  });

  it('starts no trainer when the job is abandoned just before its claim is accepted', async () => {
    const answered = Promise.withResolvers<'taken'>();
    const { slot, actions } = createSlotFixture({ report: () => answered.promise });
    slot.offer(offer);
    abandon(slot);
    answered.resolve('taken');
    await flushCallbacks();
    expect(actions).toEqual(['free false']);
  });
});

describe('stops during the start of a trainer', () => {
  /** A slot with a claimed job whose trainer is being started. */
  const startPending = async () => {
    const started = Promise.withResolvers<Run>();
    const fixture = await startRunning({ start: () => started.promise });
    const controlled = controlRun({ onLine: () => {}, onProgress: () => {}, onFigures: () => {} });
    return { ...fixture, started, controlled };
  };

  it.each<[string, Order, string | undefined]>([
    ['a cancel', cancel, 'cancelled'],
    ['an order to abandon the job', abandon, undefined],
    ['an order to leave', leaveNow, 'failed'],
  ])(
    'stops a trainer directly after its start when %s arrives during the start',
    async (_title, order, reported) => {
      const { slot, reports, controlled, started } = await startPending();
      order(slot);
      expect(controlled.stops).toEqual([]);
      started.resolve(controlled.run);
      await flushCallbacks();
      expect(controlled.stops).toEqual([30_000]);
      await endRun(controlled, null, 'SIGTERM');
      expect(reports[1]?.body.status).toBe(reported);
    },
  );

  it('reports a failed start although the job was cancelled', async () => {
    const { slot, reports, started } = await startPending();
    cancel(slot);
    started.reject(new Error('EAGAIN'));
    await flushCallbacks();
    expect(newest(reports).body).toMatchObject({ status: 'failed', cause: 'start_failed' });
  });
});

describe('stops of a run', () => {
  it('stops a cancelled trainer once with the grace period, and reports cancelled', async () => {
    const { slot, reports, runs } = await startRunning();
    cancel(slot);
    cancel(slot);
    expect(newest(runs).stops).toEqual([30_000]);
    await endRun(newest(runs), null, 'SIGTERM', 'last line');
    expect(newest(reports).body).toEqual({ status: 'cancelled', exit_code: null, signal: 'SIGTERM' });
  });

  it('reports completed when the trainer exits with 0 after a cancel', async () => {
    const { slot, reports, runs } = await startRunning();
    cancel(slot);
    await endRun(newest(runs), 0);
    expect(newest(reports).body).toMatchObject({ status: 'completed' });
  });

  it('reports preempted when the worker leaves, so that the job is retried elsewhere', async () => {
    const { slot, reports, runs } = await startRunning();
    leaveNow(slot);
    expect(newest(runs).stops).toEqual([30_000]);
    await endRun(newest(runs), null, 'SIGTERM', 'step 5');
    expect(newest(reports).body).toEqual({
      status: 'failed',
      cause: 'preempted',
      error: 'The worker was stopped. Training was ended by SIGTERM\nstep 5',
      exit_code: null,
      signal: 'SIGTERM',
    });
  });

  it('sends no report of an abandoned job, and frees the slot when the trainer has ended', async () => {
    const { slot, reports, actions, runs } = await startRunning();
    abandon(slot);
    expect(newest(runs).stops).toEqual([30_000]);
    expect(slot.held()).not.toBeNull();
    await endRun(newest(runs), null, 'SIGTERM');
    expect(reports).toHaveLength(1);
    expect(actions.slice(2)).toEqual(['stop 30000', 'drop a1', 'free true']);
  });

  it.each<[string, Order]>([
    ['cancelling another attempt', slot => slot.cancel({ jobId: jobId('j1'), attemptId: attemptId('a0') })],
    ['abandoning another job', slot => slot.abandon(jobId('j0'))],
  ])('keeps the run after %s', async (_title, order) => {
    const { slot, runs } = await startRunning();
    order(slot);
    expect(newest(runs).stops).toEqual([]);
  });
});

describe('stops during the final report', () => {
  it('keeps sending the final report of an abandoned job as a late result', async () => {
    const { slot, reports, actions, runs } = await startRunning();
    await endRun(newest(runs), 0);
    abandon(slot);
    await flushCallbacks();
    expect(newest(reports).signal.aborted).toBe(false);
    expect(slot.held()).not.toBeNull();
    await newest(reports).answer('refused');
    expect(actions.slice(2)).toEqual(['keep a1 completed', 'drop a1', 'free true']);
  });

  it.each<[string, Order]>([
    ['a cancel', cancel],
    ['an order to leave', leaveNow],
  ])('keeps sending the final report after %s', async (_title, order) => {
    const { slot, reports, runs } = await startRunning();
    await endRun(newest(runs), 0);
    order(slot);
    await flushCallbacks();
    expect(reports).toHaveLength(2);
    expect(newest(reports)).toMatchObject({ body: { status: 'completed' }, signal: { aborted: false } });
  });
});

describe('further offers', () => {
  it('ignores repeated offers of the attempt in the slot', async () => {
    const { slot, reports, actions, runs } = await startRunning();
    slot.offer(offer);
    await endRun(newest(runs), 0);
    slot.offer(offer);
    await newest(reports).answer('taken');
    expect(reports).toHaveLength(2);
    expect(newest(actions)).toBe('free true');
    expect(slot.held()).toBeNull();
  });

  it('claims the newest waiting offer after the final report is accepted', async () => {
    const { slot, reports, runs } = await startRunning();
    await endRun(newest(runs), 0);
    slot.offer(offerOf('j2', 'b1'));
    slot.offer(offerOf('j2', 'b2'));
    await flushCallbacks();
    expect(reports).toHaveLength(2);
    await newest(reports).answer('taken');
    expect(reports).toHaveLength(3);
    expect(newest(reports)).toMatchObject({ attempt: 'b2', body: { status: 'starting' } });
  });

  it('drops a waiting offer that is cancelled, and reports cancelled', async () => {
    const { slot, reports, runs } = await startRunning();
    await endRun(newest(runs), 0);
    slot.offer(offerOf('j2', 'b1'));
    slot.cancel({ jobId: jobId('j2'), attemptId: attemptId('b1') });
    await reports[1]?.answer('taken');
    expect(slot.held()).toBeNull();
    expect(reports.filter(({ attempt }) => attempt === 'b1').map(({ body }) => body)).toEqual([
      { status: 'cancelled' },
    ]);
  });

  it.each<[string, Partial<SlotDeps>, Order]>([
    ['when the worker accepts no other job', { onFree: () => false }, () => {}],
    ['when the worker leaves', {}, leaveNow],
  ])('drops a waiting offer %s', async (_title, overrides, order) => {
    const { slot, reports, runs } = await startRunning(overrides);
    await endRun(newest(runs), 0);
    slot.offer(offerOf('j2', 'b1'));
    order(slot);
    await newest(reports).answer('taken');
    expect(reports).toHaveLength(2);
    expect(slot.held()).toBeNull();
  });
});

describe('stored reports', () => {
  const storedReport: FinalReport = {
    jobId: jobId('j0'),
    attemptId: attemptId('a0'),
    body: { status: 'completed', exit_code: 0 },
  };

  it('sends a stored report, and removes the report when it was answered', async () => {
    const { slot, reports, actions } = createSlotFixture();
    slot.resume({ kind: 'reported', report: storedReport });
    expect(slot.held()).toMatchObject({ jobId: 'j0', attemptId: 'a0' });
    expect(slot.alive(storedReport.attemptId)).toBe(false);
    expect(reports).toMatchObject([{ attempt: 'a0', body: storedReport.body }]);
    await newest(reports).answer('taken');
    expect(actions).toEqual(['drop a0', 'free true']);
  });

  it('sends a stored report although its job was abandoned', async () => {
    const { slot, actions, reports } = createSlotFixture();
    slot.resume({ kind: 'reported', report: storedReport });
    slot.abandon(storedReport.jobId);
    await flushCallbacks();
    expect(actions).toEqual([]);
    await newest(reports).answer('refused');
    expect(actions).toEqual(['drop a0', 'free true']);
  });

  it('keeps the slot occupied until a stored report is answered', async () => {
    const { slot, reports } = createSlotFixture();
    slot.resume({ kind: 'reported', report: storedReport });
    slot.offer(offer);
    expect(reports).toHaveLength(1);
    await newest(reports).answer('refused');
    expect(newest(reports)).toMatchObject({ attempt: 'a1', body: { status: 'starting' } });
  });
});

it('logs an internal error, and frees the slot', async () => {
  const { slot, reports, runs, logLines, actions } = await startRunning({
    drop: () => {
      throw new Error('EIO');
    },
  });
  await endRun(newest(runs), 0);
  await newest(reports).answer('taken');
  expect(newest(logLines)).toContain('Job j1 ended unexpectedly here: Error: EIO');
  expect(newest(actions)).toBe('free true');
  expect(slot.held()).toBeNull();
});
