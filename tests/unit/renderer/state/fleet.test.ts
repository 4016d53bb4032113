/** Tests that the panel applies snapshots and events, and detects missing events. */
import { expect, test } from 'vitest';
import { advance, emptyFleet, type Fleet, fromSnapshot } from '../../../../renderer/state/fleet.ts';
import type { UiEvent } from '../../../../protocol/events.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { jobView } from '../../../support/job-view.ts';
import { workerView } from '../worker-builders.ts';

const id = JobId.parse('j_1');
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
  total_pending: 1,
  total_blocked: 0,
  total_running: 0,
};
const start = (): Fleet =>
  fromSnapshot({ workers: [], jobs: [jobView({})], queue, hasAllEndedJobs: true, seq: 7 }, []);

const jobEvent = (seq: number, changes: Readonly<Record<string, unknown>> | null, type = 'job.running') =>
  ({
    seq,
    at: '2026-01-02T03:04:05.678Z',
    kind: 'job',
    type,
    job_id: id,
    worker_id: null,
    attempt: 1,
    cause: null,
    job: changes && jobView(changes),
  }) as UiEvent;

test('applies an event to the row of its job and lists the event as recent', () => {
  const { fleet, missed } = advance(start(), [jobEvent(8, { status: 'running' })]);
  expect(missed).toBe(false);
  expect(fleet.jobs.get(id)?.status).toBe('running');
  expect(fleet.seq).toBe(8);
  expect(fleet.recent.map(({ seq }) => seq)).toEqual([8]);
});

test('returns the same fleet for events that the fleet already contains', () => {
  const before = start();
  expect(advance(before, [jobEvent(6, { status: 'failed' }), jobEvent(7, { status: 'failed' })])).toEqual({
    fleet: before,
    missed: false,
  });
});

test('advances the sequence for a hidden event and changes nothing else', () => {
  const before = start();
  const hidden = { kind: 'hidden' as const, seq: before.seq + 1, at: '2026-01-01T00:00:00.000Z' };
  expect(advance(before, [hidden])).toEqual({
    fleet: { ...before, seq: before.seq + 1 },
    missed: false,
  });
});

test('requires a reload after a gap or a reset and leaves the fleet unchanged', () => {
  const before = start();
  expect(advance(before, [jobEvent(9, { status: 'running' })])).toEqual({ fleet: before, missed: true });
  const reset: UiEvent = { kind: 'reset', seq: 8, at: '2026-01-02T03:04:05.678Z' };
  expect(advance(before, [reset])).toEqual({ fleet: before, missed: true });
  expect(advance(emptyFleet, [jobEvent(5, {})]).missed).toBe(true);
});

test('removes a deleted job', () => {
  const { fleet } = advance(start(), [jobEvent(8, null, 'job.deleted')]);
  expect(fleet.jobs.has(id)).toBe(false);
});

test('applies a progress event without listing it as recent', () => {
  const { fleet } = advance(start(), [jobEvent(8, { progress: { step: 5 } }, 'job.progress')]);
  expect(fleet.jobs.get(id)?.progress).toEqual({ step: 5 });
  expect(fleet.recent).toEqual([]);
});

test('replaces the queue state with the state in a queue event', () => {
  const event: UiEvent = {
    kind: 'queue',
    type: 'queue.paused',
    seq: 8,
    at: '2026-01-02T03:04:05.678Z',
    queue: { ...queue, paused: { note: null, by: 'ada', since: '2026-01-02T03:04:05.678Z' } },
  };
  expect(advance(start(), [event]).fleet.queue?.paused?.by).toBe('ada');
});

test('applies a job event to the row of its worker, too', () => {
  const busy = workerView({ status: 'busy', current_job_id: id });
  const before = fromSnapshot(
    { workers: [workerView()], jobs: [jobView({})], queue, hasAllEndedJobs: true, seq: 7 },
    [],
  );
  const event = { ...jobEvent(8, { status: 'dispatched' }, 'job.dispatched'), worker: busy } as UiEvent;
  const { fleet } = advance(before, [event]);
  expect(fleet.workers.get(busy.id)).toBe(busy);
  expect(fleet.jobs.get(id)?.status).toBe('dispatched');
});
