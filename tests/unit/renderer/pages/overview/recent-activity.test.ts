import { expect, test } from 'vitest';
import { isJobUpdate, JobEventType, type UiEvent, WorkerEventType } from '../../../../../protocol/events.ts';
import { LaunchId, PoolId, WorkerId } from '../../../../../protocol/ids.ts';
import { type Language, languages } from '../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { workerView } from '../../worker-builders.ts';
import { mergeActivity, sentenceOf, type TrailRow } from '../../../../../renderer/pages/overview/activity.ts';

const timeAt = (second: number, ms = 0): string =>
  new Date(Date.UTC(2026, 0, 2, 3, 4, second, ms)).toISOString();
const createRow = (second: number, type: string, id = 'w_1'): TrailRow => ({
  at: timeAt(second),
  event_type: type,
  target_type: 'worker',
  target_id: id,
  details: {},
});
const createEvent = (second: number, type: 'worker.connected' | 'worker.offline', ms = 0): UiEvent => ({
  kind: 'worker',
  seq: second,
  at: timeAt(second, ms),
  type,
  worker_id: WorkerId.parse('w_1'),
  worker: workerView({ name: 'rig-1' }),
});
const types = (activity: ReturnType<typeof mergeActivity>): readonly string[] =>
  activity.map(({ type }) => type);

test('merges stream events with audit rows, newest first and without duplicates', () => {
  const rows = [createRow(20, 'worker.connected'), createRow(10, 'worker.created')];
  // An audit row and the stream event of the same change have slightly different times.
  const activity = mergeActivity(
    rows,
    [createEvent(30, 'worker.offline'), createEvent(20, 'worker.connected', 3)],
    10,
  );
  expect(types(activity)).toEqual(['worker.offline', 'worker.connected', 'worker.created']);
  expect(activity[1]?.target).toEqual({ kind: 'worker', id: 'w_1', name: 'rig-1' });
});

test('keeps events of the same type that happen later or to another worker', () => {
  const rows = [createRow(20, 'worker.offline'), createRow(30, 'worker.offline', 'w_2')];
  expect(types(mergeActivity(rows, [createEvent(30, 'worker.offline')], 10))).toHaveLength(3);
});

test('shows only the newest entries, omits sign-ins, and adds no link for the queue', () => {
  const paused: TrailRow = {
    at: timeAt(40),
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
  const activity = mergeActivity(
    [
      signedIn,
      { ...signedIn, event_type: 'session.created', target_type: 'session' },
      paused,
      createRow(10, 'worker.created'),
      createRow(5, 'worker.created', 'w_2'),
    ],
    [],
    2,
  );
  expect(activity).toEqual([
    { at: timeAt(40), type: 'queue.paused', id: '', target: null, worker: null },
    {
      at: timeAt(10),
      type: 'worker.created',
      id: 'w_1',
      target: { kind: 'worker', id: 'w_1', name: null },
      worker: null,
    },
  ]);
});

test('shows a launch with the name of its pool when only another entry contains this name', () => {
  const created: TrailRow = {
    at: timeAt(10),
    event_type: 'pool.created',
    target_type: 'pool',
    target_id: 'p_1',
    details: { name: 'gpu' },
  };
  const joined: UiEvent = {
    kind: 'pool',
    seq: 30,
    at: timeAt(30),
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

test('omits the dispatched and starting events that precede a running event', () => {
  const rows = [createRow(3, 'job.dispatched'), createRow(4, 'job.starting'), createRow(5, 'job.running')];
  expect(types(mergeActivity(rows, [], 10))).toEqual(['job.running']);
});

/** Returns the sentence about an event, with `<target>` and `<worker>` in place of the links. */
async function sentence(type: string, language: Language = 'en', worker: string | null = 'w_1') {
  const kind = type.startsWith('job.') ? ('job' as const) : ('worker' as const);
  const target = { kind, id: 'x', name: null };
  const parts = sentenceOf(
    { at: timeAt(1), type, id: 'x', target, worker },
    await loadTexts(language, 'utc'),
  );
  return parts?.map(part => (part.kind === 'text' ? part.text : `<${part.kind}>`)).join('') ?? null;
}

test('writes a sentence about the job and its worker, and omits an unknown worker', async () => {
  expect(await sentence('job.running')).toBe('<target> started on <worker>');
  expect(await sentence('job.running', 'en', null)).toBe('<target> started');
  expect(await sentence('worker.offline')).toBe('<target> went offline');
  expect(await sentence('settings.tls_changed')).toBe('Settings were changed');
});

test('places the links in a sentence according to the word order of each language', async () => {
  expect(await sentence('job.running', 'ja')).toBe('<target> が <worker> で開始しました');
  for (const language of Object.keys(languages) as Language[])
    expect((await sentence('job.failed', language))?.match(/<target>|<worker>/g)).toHaveLength(2);
});

test('has a sentence for every event of the stream that the list shows', async () => {
  const shownTypes = [...WorkerEventType.options, ...JobEventType.options].filter(
    type => !isJobUpdate(type as JobEventType) && type !== 'job.dispatched' && type !== 'job.starting',
  );
  const sentences = await Promise.all(shownTypes.map(async type => [type, await sentence(type)] as const));
  expect(sentences.filter(([, text]) => text === null)).toEqual([]);
});

test('returns null for an unknown event type, and for an event without its target', async () => {
  expect(await sentence('job.of_a_newer_server')).toBeNull();
  const texts = await loadTexts('en', 'utc');
  const withoutTarget = { at: timeAt(1), type: 'job.failed', id: 'x', target: null, worker: null };
  expect(sentenceOf(withoutTarget, texts)).toBeNull();
});

test('omits the upload of a file by a job, but keeps the deletion of a file', () => {
  const rows = ['artifact.stored', 'artifact.deleted'].map(type => ({
    ...createRow(10, type, 'j_1'),
    target_type: 'job' as const,
  }));
  expect(types(mergeActivity(rows, [], 10))).toEqual(['artifact.deleted']);
});
