/** Tests that the panel combines lists that it reads in parts with the events that arrive between the parts. */
import { beforeEach, expect, test } from 'vitest';
import type { UiEvent } from '../../../../protocol/events.ts';
import { JobId } from '../../../../protocol/ids.ts';
import type { JobView } from '../../../../protocol/job.ts';
import { type CatchUp, createCatchUp } from '../../../../renderer/state/catch-up.ts';
import { createFleetStore, type FleetStore } from '../../../../renderer/state/stores.ts';
import { jobView } from '../../../support/job-view.ts';

const queue = {
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
};
const timestamp = '2026-01-02T03:04:05.678Z';
const createJob = (id: string, status = 'pending'): JobView => jobView({ id, job_id: id, status });
const createEvent = (seq: number, id: string, status: string | null): UiEvent => ({
  seq,
  at: timestamp,
  kind: 'job',
  type: status === null ? 'job.deleted' : 'job.running',
  job_id: JobId.parse(id),
  worker_id: null,
  attempt: 1,
  cause: null,
  job: status === null ? null : createJob(id, status),
});

let store: FleetStore;
let catchUp: CatchUp;
beforeEach(() => {
  store = createFleetStore();
  catchUp = createCatchUp(store);
  catchUp.reset();
});

const shownStatuses = (): Readonly<Record<string, string>> =>
  Object.fromEntries([...store.getState().fleet.jobs].map(([id, { status }]) => [id, status]));
const streamState = (): string => store.getState().stream.kind;
const addSnapshot = (seq: number, ...jobs: readonly JobView[]): void =>
  catchUp.addSnapshot({ workers: [], jobs, queue, hasAllEndedJobs: true, seq });

test('shows each part of the first load immediately, with the stream state "loading"', () => {
  expect(streamState()).toBe('connecting');
  addSnapshot(5, createJob('j_1'));
  expect([shownStatuses(), streamState()]).toEqual([{ j_1: 'pending' }, 'loading']);
  catchUp.addPage({ jobs: [createJob('j_2')], seq: 5 });
  expect([shownStatuses(), streamState()]).toEqual([{ j_1: 'pending', j_2: 'pending' }, 'loading']);
  catchUp.finish();
  expect(streamState()).toBe('live');
});

test('applies events that arrived before the first part when this part arrives', () => {
  catchUp.enqueue(createEvent(5, 'j_1', 'completed'));
  catchUp.enqueue(createEvent(6, 'j_1', 'running'));
  expect(catchUp.flush()).toBe(true);
  expect(shownStatuses()).toEqual({});
  addSnapshot(5, createJob('j_1'));
  expect(catchUp.flush()).toBe(true);
  expect([shownStatuses(), store.getState().fleet.seq]).toEqual([{ j_1: 'running' }, 6]);
});

test('takes from a page only the rows that are newer than the events of their jobs', () => {
  addSnapshot(5, createJob('j_1'));
  catchUp.enqueue(createEvent(6, 'j_old', 'running'));
  catchUp.enqueue(createEvent(7, 'j_new', 'running'));
  catchUp.enqueue(createEvent(8, 'j_gone', null));
  catchUp.flush();
  catchUp.addPage({
    jobs: [createJob('j_old', 'starting'), createJob('j_new', 'cancelling'), createJob('j_gone')],
    seq: 7,
  });
  expect(shownStatuses()).toEqual({ j_1: 'pending', j_old: 'starting', j_new: 'cancelling' });
  catchUp.enqueue(createEvent(9, 'j_late', 'completed'));
  catchUp.flush();
  catchUp.addPage({ jobs: [createJob('j_late', 'running')], seq: 8 });
  expect(shownStatuses()['j_late']).toBe('completed');
});

test('shows the old fleet during a reload, and then the new fleet with all newer events', () => {
  addSnapshot(5, createJob('j_1'), createJob('j_2'));
  catchUp.finish();
  catchUp.reset();
  addSnapshot(9, createJob('j_2', 'running'));
  catchUp.enqueue(createEvent(10, 'j_2', 'completed'));
  catchUp.flush();
  catchUp.addPage({ jobs: [createJob('j_3')], seq: 10 });
  expect(shownStatuses()).toEqual({ j_1: 'pending', j_2: 'pending' });
  catchUp.finish();
  expect([shownStatuses(), streamState()]).toEqual([{ j_2: 'completed', j_3: 'pending' }, 'live']);
});

test('reports a gap in the events without applying them, and drops queued events on a reset', () => {
  addSnapshot(5, createJob('j_1'));
  catchUp.finish();
  catchUp.enqueue(createEvent(7, 'j_1', 'running'));
  expect(catchUp.flush()).toBe(false);
  expect(shownStatuses()).toEqual({ j_1: 'pending' });
  catchUp.enqueue(createEvent(9, 'j_1', 'failed'));
  catchUp.reset();
  addSnapshot(9, createJob('j_1', 'completed'));
  expect(catchUp.flush()).toBe(true);
  catchUp.finish();
  expect(shownStatuses()).toEqual({ j_1: 'completed' });
});

test('notifies subscribers once for a batch of events', () => {
  addSnapshot(5, createJob('j_1'), createJob('j_2'));
  catchUp.finish();
  let notifications = 0;
  store.subscribe(() => {
    notifications += 1;
  });
  catchUp.enqueue(createEvent(6, 'j_1', 'running'));
  catchUp.enqueue(createEvent(7, 'j_2', 'running'));
  catchUp.flush();
  expect([notifications, shownStatuses()]).toEqual([1, { j_1: 'running', j_2: 'running' }]);
});
