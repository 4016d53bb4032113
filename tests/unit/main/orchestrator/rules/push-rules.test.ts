import { expect, test } from 'vitest';
import { pushEventsFor, seesOnlyOwnJobs } from '../../../../../main/orchestrator/rules/push-rules.ts';
import { permissions } from '../../../../../protocol/call.ts';
import { notificationEvents } from '../../../../../protocol/notification.ts';

const jobEvents = ['job_completed', 'job_failed', 'approval_needed', 'loss_nan', 'no_progress'];

test.each([
  [permissions, notificationEvents],
  [['queue.view'], jobEvents],
  [['queue.view.own'], jobEvents],
  [['admin.pools'], ['pool_budget']],
  [['admin.workers'], ['worker_lost', 'disk_low']],
  [['queue.submit'], []],
] as const)('lets a browser with the permissions %j subscribe to %j', (granted, events) => {
  expect(pushEventsFor(granted)).toEqual(events);
});

test.each([
  [['queue.view'], false],
  [['queue.view.own'], true],
  [['queue.view', 'queue.view.own'], false],
] as const)(
  'decides whether a browser with the permissions %j gets only notifications about its own jobs: %s',
  (granted, expected) => {
    expect(seesOnlyOwnJobs(granted)).toBe(expected);
  },
);
