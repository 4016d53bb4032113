import { describe, expect, test } from 'vitest';
import { pausedLine, queueEventText, queueFacts, statsFacts } from '../../../../../main/cli/queue/text.ts';
import { factLines } from '../../../../../main/cli/table.ts';
import type { QueueEventType } from '../../../../../protocol/events.ts';
import { JobId, WorkerId } from '../../../../../protocol/ids.ts';
import type { QueueView } from '../../../../../protocol/queue.ts';

const timestamp = '2026-01-02T03:04:05.678Z';

const queueView = (overrides: Partial<QueueView> = {}): QueueView => ({
  paused: null,
  max_concurrent: null,
  user_max_concurrent: null,
  team_max_concurrent: null,
  team_limits: {},
  enable_fair_share: true,
  approval_required_for: [],
  local_gpu_max_concurrent: null,
  local_job_max_concurrent: 1,
  total_pending: 0,
  total_blocked: 0,
  total_running: 0,
  ...overrides,
});

const paused = (note: string | null) => queueView({ paused: { note, by: 'ada', since: timestamp } });

describe('queueFacts and pausedLine', () => {
  test('shows an open queue without limits', () => {
    expect(factLines(queueFacts(queueView({ total_pending: 3, total_running: 2 })))).toEqual([
      'Queue         open',
      'Pending       3',
      'On workers    2',
      'Max running   unlimited',
      'Max per user  unlimited',
    ]);
  });

  test('shows a paused queue with limits and blocked jobs', () => {
    const limits = { max_concurrent: 0, user_max_concurrent: 1 };
    const queue = { ...paused('new fans'), ...limits, total_pending: 3, total_blocked: 2 };
    expect(factLines(queueFacts(queue))).toEqual([
      `Queue         paused by ada: new fans, since ${timestamp}`,
      'Pending       3, 2 of them need approval',
      'On workers    0',
      'Max running   0',
      'Max per user  1',
    ]);
  });

  test('returns a notice line only while the queue is paused', () => {
    expect([queueView(), paused(null), paused('new fans')].map(pausedLine)).toEqual([
      null,
      'Queue paused by ada',
      'Queue paused by ada: new fans',
    ]);
  });
});

describe('text of queue events', () => {
  const describeEvent = (type: QueueEventType, queue: QueueView) =>
    queueEventText({ seq: 1, at: timestamp, kind: 'queue', type, queue });

  test.each<[QueueEventType, QueueView, string]>([
    ['queue.paused', paused('new fans'), 'queue paused by ada: new fans'],
    ['queue.paused', paused(null), 'queue paused by ada'],
    // The queue is open in the snapshot, because it was resumed before the event was read.
    ['queue.paused', queueView(), 'queue paused'],
    ['queue.resumed', queueView(), 'queue resumed'],
    [
      'queue.limits_changed',
      queueView({ max_concurrent: 4 }),
      'queue limits: max running 4, max per user unlimited',
    ],
    ['queue.cleaned', queueView(), 'old jobs deleted'],
  ])('describes the event %s', (type, queue, text) => {
    expect(describeEvent(type, queue)).toBe(text);
  });
});

test('shows averages only for a queue that has run jobs', () => {
  const withoutJobs = {
    ...queueView(),
    queue_depth: 0,
    running: 0,
    by_status: {},
    by_user: {},
    waiting_for_offline: [],
    avg_wait_seconds: null,
    avg_run_seconds: null,
    ended_24h: { completed: 0, failed: 0, cancelled: 0 },
    gpu_hours_24h: 0,
    unsatisfiable: [],
    local: null,
    workers: null,
  };
  expect(factLines(statsFacts(withoutJobs)).slice(5)).toEqual([
    'Ended in 24 h  0 completed, 0 failed, 0 cancelled',
  ]);
  const withJobs = {
    ...withoutJobs,
    by_status: { pending: 2, completed: 7 },
    by_user: { ada: { pending: 1, running: 0 }, bob: { pending: 1, running: 3 } },
    avg_wait_seconds: 0,
    avg_run_seconds: 3_725,
    ended_24h: { completed: 7, failed: 0, cancelled: 0 },
    gpu_hours_24h: 12.25,
    unsatisfiable: [
      { job_id: JobId.parse('j_1'), count: 1 },
      { job_id: JobId.parse('j_2'), count: 3 },
    ],
    waiting_for_offline: [
      {
        worker_id: WorkerId.parse('w_1'),
        worker_name: 'rig-a',
        worker_count: 1,
        job_id: JobId.parse('j_3'),
        count: 1,
      },
      {
        worker_id: WorkerId.parse('w_2'),
        worker_name: 'rig-b',
        worker_count: 3,
        job_id: JobId.parse('j_4'),
        count: 5,
      },
    ],
    local: {
      running_jobs: 1,
      pending_jobs: 2,
      allocated_gpus: [0, 1],
      available_gpus: [],
      total_gpus: 4,
      max_concurrent_gpus: null,
      max_concurrent_jobs: 1,
    },
  };
  expect(factLines(statsFacts(withJobs)).slice(5)).toEqual([
    'Jobs             2 pending',
    '                 7 completed',
    'Users            ada: 1 pending, 0 on workers',
    '                 bob: 1 pending, 3 on workers',
    'Ended in 24 h    7 completed, 0 failed, 0 cancelled',
    'This machine     1 running, 2 pending, 2 of 4 GPUs in use',
    'GPU-hours        12.25 in 24 h',
    'Unschedulable    j_1',
    '                 j_2 and 2 like it',
    'Offline workers  rig-a: 1 pending job needs it',
    '                 rig-b or 2 more: 5 pending jobs need it',
    'Average wait     0 s',
    'Average run      1 h 2 min',
  ]);
});
