import { expect, test } from 'vitest';
import type { UiEvent } from '../../../../../protocol/events.ts';
import { LaunchId, PoolId, WorkerId } from '../../../../../protocol/ids.ts';
import { workerView } from '../../worker-builders.ts';
import { mergeActivity, type TrailRow } from '../../../../../renderer/pages/overview/recent-activity.tsx';

const at = (second: number, ms = 0): string => new Date(Date.UTC(2026, 0, 2, 3, 4, second, ms)).toISOString();
const row = (second: number, type: string, id = 'w_1'): TrailRow => ({
  at: at(second),
  event_type: type,
  target_type: 'worker',
  target_id: id,
  details: {},
});
const event = (second: number, type: 'worker.connected' | 'worker.offline', ms = 0): UiEvent => ({
  kind: 'worker',
  seq: second,
  at: at(second, ms),
  type,
  worker_id: WorkerId.parse('w_1'),
  worker: workerView({ name: 'rig-1' }),
});
const types = (all: ReturnType<typeof mergeActivity>): readonly string[] => all.map(({ type }) => type);

test('merges stream events with the audit log in order, without duplicates', () => {
  const rows = [row(20, 'worker.connected'), row(10, 'worker.registered')];
  // An audit row and the event of the same change have slightly different times.
  const all = mergeActivity(rows, [event(30, 'worker.offline'), event(20, 'worker.connected', 3)], 10);
  expect(types(all)).toEqual(['worker.offline', 'worker.connected', 'worker.registered']);
  expect(all[1]?.target).toEqual({ kind: 'worker', id: 'w_1', name: 'rig-1' });
});

test('keeps events that repeat later or concern another worker', () => {
  const rows = [row(20, 'worker.offline'), row(30, 'worker.offline', 'w_2')];
  expect(types(mergeActivity(rows, [event(30, 'worker.offline')], 10))).toHaveLength(3);
});

test('shows only the newest, omits sign-ins and links no queue events', () => {
  const paused: TrailRow = {
    at: at(40),
    event_type: 'queue.paused',
    target_type: 'queue',
    target_id: 'queue',
    details: {},
  };
  const signedIn: TrailRow = {
    ...paused,
    event_type: 'auth.signed_in',
    target_type: 'user',
    target_id: 'admin',
  };
  const all = mergeActivity(
    [signedIn, paused, row(10, 'worker.created'), row(5, 'worker.created', 'w_2')],
    [],
    2,
  );
  expect(all).toEqual([
    { at: at(40), type: 'queue.paused', id: '', target: null },
    { at: at(10), type: 'worker.created', id: 'w_1', target: { kind: 'worker', id: 'w_1', name: null } },
  ]);
});

test('names the pool of an event or a launch as another entry names it', () => {
  const created: TrailRow = {
    at: at(10),
    event_type: 'pool.created',
    target_type: 'pool',
    target_id: 'p_1',
    details: { name: 'gpu' },
  };
  const joined: UiEvent = {
    kind: 'pool',
    seq: 30,
    at: at(30),
    type: 'launch.joined',
    pool_id: PoolId.parse('p_1'),
    launch_id: LaunchId.parse('abc'),
  };
  const ended: TrailRow = {
    ...created,
    event_type: 'launch.ended',
    target_type: 'launch',
    target_id: 'abd',
    details: { pool_id: 'p_1' },
  };
  const target = { kind: 'pool', id: 'p_1', name: 'gpu' };
  expect(mergeActivity([ended, created], [joined], 10).map(({ id, target: shown }) => [id, shown])).toEqual([
    ['abc', target],
    ['abd', target],
    ['p_1', target],
  ]);
});
