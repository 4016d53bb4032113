import { expect, test } from 'vitest';
import { pushEventsFor, seesOnlyOwnJobs } from '../../../../../main/orchestrator/rules/push-rules.ts';
import { permissions } from '../../../../../protocol/call.ts';
import { notificationEvents } from '../../../../../protocol/notification.ts';

const ofJobs = ['job_completed', 'job_failed', 'approval_needed', 'loss_nan', 'no_progress'];

test.each([
  [permissions, notificationEvents],
  [['queue.view'], ofJobs],
  [['queue.view.own'], ofJobs],
  [['admin.pools'], ['pool_budget']],
  [['admin.workers'], ['worker_lost', 'disk_low']],
  [['queue.submit'], []],
] as const)('with the permissions %j, a browser can subscribe to %j', (held, events) => {
  expect(pushEventsFor(held)).toEqual(events);
});

test.each([
  [['queue.view'], false],
  [['queue.view.own'], true],
  [['queue.view', 'queue.view.own'], false],
] as const)('with the permissions %j, a browser gets only own jobs: %s', (held, expected) => {
  expect(seesOnlyOwnJobs(held)).toBe(expected);
});
