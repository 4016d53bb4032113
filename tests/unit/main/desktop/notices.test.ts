import { describe, expect, test } from 'vitest';
import { createBurst, type Notice, noticeOf, toNotifications } from '../../../../main/desktop/notices.ts';
import {
  applyEvent,
  attentionCount,
  emptySummary,
  connectedCount,
  type Summary,
  summaryOf,
} from '../../../../main/desktop/summary.ts';
import { progressOf } from '../../../../main/desktop/taskbar/progress.ts';
import { trayMenu, trayText } from '../../../../main/desktop/tray-model.ts';
import { wordsFor } from '../../../../main/desktop/words/index.ts';
import { UiEvent } from '../../../../protocol/events.ts';
import type { JobView } from '../../../../protocol/job.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { jobView } from '../../../support/job-view.ts';
import { createVirtualClock } from '../../../support/virtual-clock.ts';
import { jobId, workerId, workerView } from '../../renderer/worker-builders.ts';

const en = wordsFor([]);
const allEvents = { job_completed: true, job_failed: true, worker_lost: true };
const timestamp = '2026-01-02T03:04:05.678Z';

const jobEvent = (type: string, job: JobView | null, worker?: WorkerView): UiEvent =>
  UiEvent.parse({
    kind: 'job',
    seq: 1,
    at: timestamp,
    type,
    job_id: job?.id ?? 'j_1',
    worker_id: job?.worker_id ?? null,
    attempt: 1,
    cause: null,
    job,
    ...(worker === undefined ? {} : { worker }),
  });
const runningJob = (id: string, progress: object | null = null): JobView =>
  jobView({ id, job_id: id, status: 'running', config_name: `config ${id}`, worker_id: 'w_one', progress });
const queueEvent = (isPaused: boolean): UiEvent =>
  UiEvent.parse({
    kind: 'queue',
    seq: 2,
    at: timestamp,
    type: isPaused ? 'queue.paused' : 'queue.resumed',
    queue: {
      max_concurrent: null,
      user_max_concurrent: null,
      team_max_concurrent: null,
      team_limits: {},
      enable_fair_share: true,
      approval_required_for: [],
      local_gpu_max_concurrent: null,
      local_job_max_concurrent: 1,
      paused: isPaused ? { note: null, by: 'admin', since: timestamp } : null,
      total_pending: 0,
      total_blocked: 0,
      total_running: 0,
    },
  });

describe('a summary of the fleet', () => {
  const summary = summaryOf({
    workers: [workerView(), workerView({ id: workerId('w_two'), status: 'offline' })],
    jobs: [runningJob('j_1', { percent: 41.9 }), jobView({ id: 'j_9', job_id: 'j_9' })],
    queue: null,
    mayPause: false,
  });

  test('counts connected workers and live jobs', () => {
    expect(connectedCount(summary)).toBe(1);
    expect([...summary.live.values()]).toMatchObject([{ id: 'j_1', name: 'config j_1', percent: 41 }]);
    expect(summary.isPaused).toBeNull();
  });

  test('applies events, and ignores a repeated event', () => {
    const events = [
      jobEvent('job.running', runningJob('j_2', { step: 30, total_steps: 40 })),
      jobEvent('job.running', runningJob('j_2', { step: 30, total_steps: 40 })),
      jobEvent(
        'job.completed',
        { ...runningJob('j_1'), status: 'completed' },
        workerView({ status: 'busy' }),
      ),
      jobEvent('job.deleted', null),
      queueEvent(true),
      UiEvent.parse({
        kind: 'worker',
        seq: 3,
        at: timestamp,
        type: 'worker.deleted',
        worker_id: 'w_two',
        worker: null,
      }),
    ];
    const updated = events.reduce(applyEvent, summary);
    expect([...updated.live.values()]).toMatchObject([{ id: 'j_2', name: 'config j_2', percent: 75 }]);
    expect(updated.isPaused).toBe(true);
    expect([...updated.workers]).toMatchObject([['w_one', { status: 'busy' }]]);
  });

  test('counts items that need attention, and updates the count with each event', () => {
    const since = '2026-01-02T03:00:00.000Z';
    const now = Date.parse(timestamp);
    const hold = { kind: 'silent', since, until: null, releasable: true };
    const gone = { status: 'offline', status_reason: 'silent', last_heartbeat: since } as const;
    const before = summaryOf({
      workers: [
        workerView({
          id: workerId('w_bad'),
          quarantine: { reason: 'three in a row', since, retry_at: since },
        }),
        workerView({ id: workerId('w_gone'), ...gone }),
      ],
      jobs: [
        jobView({ id: 'j_ask', job_id: 'j_ask', approval: 'wanted' }),
        jobView({ id: 'j_hold', job_id: 'j_hold', status: 'recovering', hold }),
      ],
      queue: null,
      mayPause: false,
    });
    expect(attentionCount(before, now)).toBe(4);
    // A worker that has been offline for a week no longer counts, because it is probably retired.
    expect(attentionCount(before, now + 8 * 86_400_000)).toBe(3);
    const after = [
      jobEvent('job.approved', jobView({ id: 'j_ask', job_id: 'j_ask', approval: 'given' })),
      jobEvent(
        'job.requeued',
        jobView({ id: 'j_hold', job_id: 'j_hold' }),
        workerView({ id: workerId('w_bad') }),
      ),
    ].reduce(applyEvent, before);
    expect(attentionCount(after, now)).toBe(1);
    const ended = { completed: 5, cancelled: 0 };
    const waiting = { worker_id: workerId('w_gone'), worker_name: 'rig-1', job_id: jobId('j_1'), count: 7 };
    const withStats = (worker_count: number, failed: number) => ({
      ...after,
      stats: {
        unsatisfiable: [{ job_id: jobId('j_2'), count: 3 }],
        waiting_for_offline: [{ ...waiting, worker_count }],
        ended_24h: { ...ended, failed },
      },
    });
    // Jobs that wait for the offline worker replace the entry of that worker.
    expect(attentionCount(withStats(1, 0), now)).toBe(2);
    expect(attentionCount(withStats(2, 9), now)).toBe(4);
    expect(attentionCount(emptySummary, now)).toBe(0);
  });

  test('returns the progress of the local job in the format of the taskbar', () => {
    const here = workerView({ id: workerId('w_one'), local: true });
    const progress = (jobs: readonly JobView[], worker = here): number =>
      progressOf(summaryOf({ workers: [worker], jobs, queue: null, mayPause: false }));
    expect(progress([runningJob('j_1', { percent: 41.9 })])).toBe(0.41);
    // Electron shows a value above 1 as unknown progress, and hides the bar for a negative value.
    expect(progress([runningJob('j_1')])).toBe(2);
    expect(progress([])).toBe(-1);
    expect(progress([runningJob('j_1', { percent: 41.9 })], { ...here, local: false })).toBe(-1);
    expect(progress([jobView({ id: 'j_9', job_id: 'j_9', status: 'dispatched', worker_id: null })])).toBe(-1);
  });

  const percentAfter = (progress: object | null) => {
    const event = jobEvent('job.progress', runningJob('j_1', progress));
    return applyEvent(emptySummary, event).live.get('j_1')?.percent;
  };

  test('returns no percentage for a job with an unknown number of steps', () => {
    for (const progress of [null, {}, { step: 3 }, { step: 3, total_steps: 0 }])
      expect(percentAfter(progress)).toBeNull();
  });

  test('returns at most 100 percent for a job with more steps than planned', () => {
    expect(percentAfter({ step: 9, total_steps: 3 })).toBe(100);
  });
});

describe('trayMenu and trayText', () => {
  const summary = [1, 2].reduce<Summary>(
    (before, n) => applyEvent(before, jobEvent('job.running', runningJob(`j_${n}`, { percent: n * 10 }))),
    { ...emptySummary, isPaused: false, mayPause: true },
  );
  const labels = (state: Parameters<typeof trayMenu>[0]): readonly (string | null)[] =>
    trayMenu(state, en).map(item => (item.kind === 'separator' ? null : item.label));

  test('shows the state of the fleet, its running jobs and the commands', () => {
    expect(labels({ fleet: 'Lab', summary })).toEqual([
      'Lab: no workers, 2 jobs running',
      'config j_1  10 %',
      'config j_2  20 %',
      null,
      'Open Trainyard',
      'Pause queue',
      null,
      'Quit Trainyard…',
    ]);
    const [, job] = trayMenu({ fleet: 'Lab', summary }, en);
    expect(job).toMatchObject({ act: { type: 'open', page: '/jobs/j_1' } });
  });

  test('offers to resume a paused queue, and neither pause nor resume when the state is unknown', () => {
    expect(labels({ fleet: 'Lab', summary: { ...summary, isPaused: true } })).toContain('Resume queue');
    expect(trayText({ fleet: 'Lab', summary: { ...emptySummary, isPaused: true } }, en)).toBe(
      'Lab: no workers, no jobs running, queue paused',
    );
    for (const state of [
      { summary: { ...summary, mayPause: false } },
      { summary: { ...summary, isPaused: null } },
      { summary: null },
    ])
      expect(labels({ fleet: 'Lab', ...state }).join()).not.toMatch(/Pause|Resume/);
  });

  test('shows that the orchestrator is not reachable', () =>
    expect(trayText({ fleet: 'Lab', summary: null }, en)).toBe('Lab: not reachable'));

  test('limits the number of tray menu entries and the length of their labels', () => {
    const starts = Array.from({ length: 30 }, (_, n) => jobEvent('job.running', runningJob(`j_${n}`)));
    const shownLabels = labels({ fleet: 'Lab', summary: starts.reduce(applyEvent, emptySummary) });
    expect(shownLabels).toHaveLength(14);
    expect(shownLabels).toContain('22 more…');
    const jobWithLongName = { ...runningJob('j_1'), config_name: `A&B ${'x'.repeat(300)}` };
    const [, label] = labels({
      fleet: 'Lab',
      summary: applyEvent(emptySummary, jobEvent('job.running', jobWithLongName)),
    });
    expect(label).toMatch(/^A&&B x+…$/);
    expect(label?.length).toBeLessThan(45);
  });
});

// Here a notice is an event that the desktop app shows as a notification, not the notice of GLOSSARY.md.
describe('notices', () => {
  const completedJob = { ...runningJob('j_1'), status: 'completed' as const, worker_name: 'rig-1' };

  test.each([
    ['job.completed', 'job_completed'],
    ['job.failed', 'job_failed'],
    ['job.recovering', 'worker_lost'],
  ] as const)('creates a notice for %s unless that kind of notice is switched off', (type, kind) => {
    expect(noticeOf(null, jobEvent(type, completedJob), allEvents)).toMatchObject({
      kind,
      name: 'config j_1',
    });
    expect(noticeOf(null, jobEvent(type, completedJob), { ...allEvents, [kind]: false })).toBeNull();
  });

  test.each(['job.cancelled', 'job.running', 'job.progress', 'job.requeued'])(
    'creates no notice for %s',
    type => expect(noticeOf(null, jobEvent(type, completedJob), allEvents)).toBeNull(),
  );

  test('creates no notice for a deleted job, or for a worker that signed off before it disconnected', () => {
    expect(noticeOf(null, jobEvent('job.completed', null), allEvents)).toBeNull();
    const disconnected = workerView({ status: 'offline', status_reason: 'goodbye' });
    expect(noticeOf(null, jobEvent('job.recovering', completedJob, disconnected), allEvents)).toBeNull();
    const silent = workerView({ status: 'offline', status_reason: 'silent' });
    expect(noticeOf('f_1', jobEvent('job.recovering', completedJob, silent), allEvents)).toMatchObject({
      fleet: 'f_1',
      page: '/workers/w_one',
      worker: 'rig-1',
    });
  });

  const notice = (kind: Notice['kind'], n = 1): Notice => ({
    kind,
    fleet: null,
    name: `config ${n}`,
    worker: 'rig-1',
    why: kind === 'job_failed' ? 'out of memory' : null,
    page: kind === 'worker_lost' ? '/workers/w_1' : `/jobs/j_${n}`,
  });

  test('shows up to two notices separately, and combines three or more into one notification', () => {
    expect(toNotifications([notice('job_failed')], en)).toEqual([
      { title: 'Job failed', body: 'config 1: out of memory', fleet: null, page: '/jobs/j_1' },
    ]);
    expect(toNotifications([notice('job_completed'), notice('worker_lost')], en)).toHaveLength(2);
    const burst = [notice('job_completed', 1), notice('job_failed', 2), notice('worker_lost', 3)];
    expect(toNotifications(burst, en)).toEqual([
      {
        title: 'Fleet activity',
        body: '1 job completed · 1 job failed · 1 worker lost with its job',
        fleet: null,
        page: '/jobs',
      },
    ]);
    expect(
      toNotifications([notice('worker_lost'), notice('worker_lost'), notice('worker_lost')], en),
    ).toMatchObject([{ page: '/workers/w_1' }]);
    expect(toNotifications([], en)).toEqual([]);
  });

  test('collects notices for 1.5 seconds, and for longer while many arrive', async () => {
    const clock = createVirtualClock();
    const burstSizes: number[] = [];
    const noticeCount = (): number => burstSizes.reduce((sum, size) => sum + size, 0);
    const burst = createBurst({ after: clock.after, show: notices => burstSizes.push(notices.length) });
    for (let n = 0; n < 5; n += 1) burst.add(notice('job_completed', n));
    expect(burstSizes).toEqual([]);
    await clock.advance(1_500);
    expect(burstSizes).toEqual([5]);
    for (let second = 0; second < 60; second += 1) {
      burst.add(notice('job_completed', second));
      await clock.advance(1_000);
    }
    expect(burstSizes.length).toBeLessThanOrEqual(4);
    await clock.advance(120_000);
    expect(noticeCount()).toBe(65);
    // After two minutes without notices, the next notice is shown soon.
    burst.add(notice('job_completed'));
    await clock.advance(1_500);
    expect(burstSizes.at(-1)).toBe(1);
    burst.add(notice('job_completed'));
    burst.stop();
    await clock.advance(120_000);
    expect(noticeCount()).toBe(66);
  });
});
