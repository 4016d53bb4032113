import { describe, expect, it } from 'vitest';
import type { Fetched } from '../../../../agent/artifacts/checkpoint-fetch.ts';
import type { SlotDeps } from '../../../../agent/session/job-slot.ts';
import type { StatusReportBody } from '../../../../protocol/worker-api.ts';
import { offerOf } from '../builders.ts';
import { endRun, type ControlledRun, newest, flushCallbacks } from '../controlled-runs.ts';
import { createSlotFixture, type SlotFixture } from '../slot-fixture.ts';

const offer = offerOf('j1', 'a1');

/** A slot with a claimed, running job. */
async function startRunning(overrides: Partial<SlotDeps> = {}): Promise<SlotFixture> {
  const fixture = createSlotFixture(overrides);
  fixture.slot.offer(offer);
  await newest(fixture.reports).answer('taken');
  return fixture;
}

describe('from offer to report', () => {
  it('claims an offer, and starts no trainer before the claim is accepted', async () => {
    const { slot, reports, actions, runs } = createSlotFixture();
    slot.offer(offer);
    await flushCallbacks();
    expect(reports).toMatchObject([{ attempt: 'a1', body: { status: 'starting' } }]);
    expect(actions).toEqual([]);
    expect(slot.held()).toMatchObject({ jobId: 'j1', attemptId: 'a1' });
    await newest(reports).answer('taken');
    expect(actions).toEqual(['prepare a1', 'start']);
    expect(runs).toHaveLength(1);
  });

  it('follows the log of an attempt from start to end, with the secrets of its offer', async () => {
    const logs: string[] = [];
    const fixture = createSlotFixture({
      logs: {
        follow: (attempt, secrets) => void logs.push(`follow ${attempt} without ${secrets.join(' ')}`),
        finish: attempt => void logs.push(`finish ${attempt}`),
        keepFor: attempt => void logs.push(`keep ${attempt}`),
      },
    });
    fixture.slot.offer(offerOf('j1', 'a1', { upload_token: 'tu_1', hf_token: 'hf_1' }));
    await newest(fixture.reports).answer('taken');
    expect(logs).toEqual(['follow a1 without tu_1 hf_1', 'keep a1']);
    await endRun(newest(fixture.runs), 0);
    expect(logs.slice(2)).toEqual(['finish a1']);
  });

  describe('resume checkpoint', () => {
    const resumingOffer = offerOf('j1', 'a1', { resume: { checkpoint: 'checkpoint-5', step: 5 } });
    /** A slot whose download of the resume checkpoint the test completes. */
    const startFetching = async () => {
      const fetched = Promise.withResolvers<Fetched>();
      const signals: AbortSignal[] = [];
      const outputs: string[] = [];
      const fixture = createSlotFixture({
        fetchCheckpoint: (_offer, _job, signal) => {
          signals.push(signal);
          return fetched.promise;
        },
        outputs: {
          follow: async ({ attempt_id: attempt }, { outputDir }) =>
            void outputs.push(`follow ${attempt} in ${outputDir}`),
          finish(attempt, isCompleted) {
            outputs.push(`finish ${attempt} ${isCompleted}`);
            return isCompleted;
          },
          rescue: async (attempt, _withinMs, end = 'preempted') =>
            void outputs.push(`rescue ${attempt} ${end}`),
          hasten: () => false,
          saved: () => 'none',
        },
      });
      fixture.slot.offer(resumingOffer);
      await newest(fixture.reports).answer('taken');
      const completeFetch = (result: Fetched): Promise<void> => {
        fetched.resolve(result);
        return flushCallbacks();
      };
      return {
        ...fixture,
        completeFetch,
        outputs,
        isFetching: () => signals.some(({ aborted }) => !aborted),
      };
    };

    it('downloads the resume checkpoint before it starts the trainer', async () => {
      const { actions, completeFetch, logLines, runs, outputs } = await startFetching();
      expect(actions).toEqual(['prepare a1']);
      await completeFetch({ kind: 'ready', message: 'Resuming from it' });
      expect([actions, logLines[0]]).toEqual([['prepare a1', 'start'], 'Resuming from it']);
      await endRun(newest(runs), 0);
      expect(outputs).toEqual(['follow a1 in /nowhere', 'finish a1 true']);
    });

    it('fails the attempt with a reason when the resume checkpoint is unavailable', async () => {
      const { actions, completeFetch, reports, outputs } = await startFetching();
      await completeFetch({ kind: 'failed', message: 'it is gone' });
      expect(newest(reports).body).toEqual({ status: 'failed', cause: 'start_failed', error: 'it is gone' });
      expect([actions, outputs]).toEqual([['prepare a1', 'keep a1 failed'], []]);
    });

    it.each<[string, (fixture: SlotFixture) => void, StatusReportBody['status'] | null]>([
      [
        'cancelled',
        ({ slot }) => slot.cancel({ jobId: resumingOffer.job_id, attemptId: resumingOffer.attempt_id }),
        'cancelled',
      ],
      ['stopped with its worker', ({ slot }) => slot.leaveNow(), 'failed'],
      ['abandoned', ({ slot }) => slot.abandon(resumingOffer.job_id), null],
      ['left by its agent', ({ slot }) => slot.release(), null],
    ])(
      'stops the download of the resume checkpoint when the job is %s',
      async (_title, stop, expectedStatus) => {
        const fixture = await startFetching();
        expect(fixture.isFetching()).toBe(true);
        stop(fixture);
        expect(fixture.isFetching()).toBe(false);
        await fixture.completeFetch({ kind: 'aborted' });
        expect(fixture.actions).not.toContain('start');
        expect(fixture.reports.at(-1)?.body.status).toBe(expectedStatus ?? 'starting');
      },
    );

    it('uploads checkpoints of a training before it reports the end when the worker leaves', async () => {
      const { completeFetch, runs, outputs, slot, reports } = await startFetching();
      await completeFetch({ kind: 'ready', message: '' });
      slot.leaveNow();
      await endRun(newest(runs), 143);
      expect(outputs.at(-1)).toBe('rescue a1 preempted');
      expect(newest(reports).body).toMatchObject({ cause: 'preempted' });
    });

    it('uploads only the event files of a failed training before it reports the end', async () => {
      const { completeFetch, runs, outputs, reports } = await startFetching();
      await completeFetch({ kind: 'ready', message: '' });
      await endRun(newest(runs), 1);
      expect(outputs.at(-1)).toBe('rescue a1 stopped');
      expect(newest(reports).body).toMatchObject({ status: 'failed', exit_code: 1 });
    });
  });

  it('stores the final report before sending, and removes the stored report when the server has accepted it', async () => {
    const { slot, reports, actions, runs } = await startRunning();
    await endRun(newest(runs), 0);
    expect(actions.slice(2)).toEqual(['keep a1 completed']);
    expect(newest(reports).body).toEqual({ status: 'completed', exit_code: 0, signal: null });
    expect(slot.held()).not.toBeNull();
    await newest(reports).answer('taken');
    expect(actions.slice(3)).toEqual(['drop a1', 'free true']);
    expect(slot.held()).toBeNull();
  });

  it('removes a stored report that was refused', async () => {
    const { reports, actions, runs } = await startRunning();
    await endRun(newest(runs), 0);
    await newest(reports).answer('refused');
    expect(actions.slice(3)).toEqual(['drop a1', 'free true']);
  });

  it('keeps the stored report when the agent ends before the response', async () => {
    const { reports, actions, runs } = await startRunning();
    await endRun(newest(runs), 0);
    await newest(reports).answer('aborted');
    expect(actions.slice(2)).toEqual(['keep a1 completed', 'free true']);
  });

  it('sends a final report that cannot be stored', async () => {
    const { reports, runs, logLines, actions } = await startRunning({
      keep: () => {
        throw new Error('ENOSPC: no space left on device');
      },
    });
    await endRun(newest(runs), 0);
    expect(newest(reports).body.status).toBe('completed');
    expect(newest(logLines)).toContain('ENOSPC');
    await newest(reports).answer('taken');
    expect(newest(actions)).toBe('free true');
  });
});

describe('claims that are not accepted', () => {
  it.each(['refused', 'aborted'] as const)('starts no trainer after a claim is %s', async answer => {
    const { slot, reports, actions } = createSlotFixture();
    slot.offer(offer);
    await newest(reports).answer(answer);
    expect(actions).toEqual(['free false']);
    expect(slot.held()).toBeNull();
  });

  it('frees the slot for the next offer after a refused claim', async () => {
    const { slot, reports } = createSlotFixture();
    slot.offer(offer);
    await newest(reports).answer('refused');
    slot.offer(offerOf('j2', 'b1'));
    await flushCallbacks();
    expect(newest(reports)).toMatchObject({ attempt: 'b1', body: { status: 'starting' } });
  });
});

describe('end of a run', () => {
  const tail = 'Traceback\nRuntimeError: CUDA out of memory';

  it.each<[string, Parameters<ControlledRun['end']>, StatusReportBody]>([
    ['with exit code 0', [0, null, tail], { status: 'completed', exit_code: 0, signal: null }],
    [
      'with another exit code',
      [1, null, tail],
      { status: 'failed', error: `Training exited with code 1\n${tail}`, exit_code: 1, signal: null },
    ],
    [
      'without output',
      [137],
      { status: 'failed', error: 'Training exited with code 137', exit_code: 137, signal: null },
    ],
    [
      'by a signal',
      [null, 'SIGSEGV', 'oops'],
      { status: 'failed', error: 'Training was ended by SIGSEGV\noops', exit_code: null, signal: 'SIGSEGV' },
    ],
    [
      'on a machine without SimpleTuner',
      [1, null, "/usr/bin/python: No module named 'simpletuner'"],
      {
        status: 'failed',
        cause: 'start_failed',
        error: expect.stringMatching(
          /^No trainer found: SimpleTuner is not installed.*--trainer\n.*code 1\n/,
        ),
        exit_code: 1,
        signal: null,
      },
    ],
  ])('reports the end of a run %s', async (_title, end, expected) => {
    const { reports, runs } = await startRunning();
    await endRun(newest(runs), ...end);
    expect(newest(reports).body).toEqual(expected);
  });

  it('reports the merged progress of a run during the run and at its end', async () => {
    const { slot, reports, progressReports, runs } = await startRunning();
    const { listeners } = newest(runs);
    listeners.onProgress({ step: 1, total_steps: 10, loss: 0.9 });
    listeners.onProgress({ step: 2, loss: 0.8 });
    expect(slot.progress()).toEqual({ step: 2, total_steps: 10, loss: 0.8 });
    expect(progressReports).toEqual([
      { status: 'running' },
      { status: 'running', progress: { step: 1, total_steps: 10, loss: 0.9 } },
      { status: 'running', progress: { step: 2, total_steps: 10, loss: 0.8 } },
    ]);
    await endRun(newest(runs), 0);
    expect(newest(reports).body).toMatchObject({ progress: { step: 2, total_steps: 10, loss: 0.8 } });
  });

  it('reports an attempt as alive until its run has ended', async () => {
    const { slot, runs } = await startRunning();
    expect(slot.alive(offer.attempt_id)).toBe(true);
    expect(slot.alive(offerOf('j1', 'a2').attempt_id)).toBe(false);
    await endRun(newest(runs), 0);
    expect(slot.held()).not.toBeNull();
    expect(slot.alive(offer.attempt_id)).toBe(false);
  });
});

describe('failed starts', () => {
  const spawnError = Object.assign(new Error('spawn /opt/train ENOENT'), {
    code: 'ENOENT',
    syscall: 'spawn /opt/train',
    path: '/opt/train',
  });
  const noFolder = Object.assign(new Error("ENOENT: no such file or directory, mkdir '/jobs'"), {
    code: 'ENOENT',
    syscall: 'mkdir',
    path: '/jobs',
  });
  const throwing = (cause: Error) => (): never => {
    throw cause;
  };

  it.each<[string, Partial<SlotDeps>, StatusReportBody]>([
    [
      'when the rig rejects the job',
      { prepare: () => ({ ok: false, cause: 'rejected', message: 'no self-tests' }) },
      { status: 'failed', cause: 'rejected', error: 'no self-tests' },
    ],
    [
      'when the trainer is missing',
      { start: () => Promise.reject(spawnError) },
      {
        status: 'failed',
        cause: 'start_failed',
        error: expect.stringMatching(/^No trainer found: \/opt\/train is not on this machine.*--trainer$/),
      },
    ],
    [
      'when the job folder cannot be created',
      { prepare: throwing(noFolder) },
      {
        status: 'failed',
        cause: 'start_failed',
        error: "The trainer could not be started: ENOENT: no such file or directory, mkdir '/jobs'",
      },
    ],
    [
      'for any other reason',
      { start: () => Promise.reject(new Error('EAGAIN')) },
      { status: 'failed', cause: 'start_failed', error: 'The trainer could not be started: EAGAIN' },
    ],
  ])('reports a failed start %s', async (_title, overrides, expected) => {
    const { reports, actions } = await startRunning(overrides);
    expect(newest(reports).body).toEqual(expected);
    expect(newest(actions)).toBe('keep a1 failed');
    await newest(reports).answer('taken');
    expect(newest(actions)).toBe('free true');
  });
});
