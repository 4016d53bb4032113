import { expect, test } from 'vitest';
import { isJobUpdate, JobEventType, type UiEvent, WorkerEventType } from '../../../../../protocol/events.ts';
import { LaunchId, PoolId, WorkerId } from '../../../../../protocol/ids.ts';
import { type Language, languages } from '../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { workerView } from '../../worker-builders.ts';
import { mergeActivity, sentenceOf, type TrailRow } from '../../../../../renderer/pages/overview/activity.ts';

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
const types = (activity: ReturnType<typeof mergeActivity>): readonly string[] =>
  activity.map(({ type }) => type);

test('merges stream events with the audit log in order, without duplicates', () => {
  const rows = [row(20, 'worker.connected'), row(10, 'worker.created')];
  // An audit row and the event of the same change have slightly different times.
  const all = mergeActivity(rows, [event(30, 'worker.offline'), event(20, 'worker.connected', 3)], 10);
  expect(types(all)).toEqual(['worker.offline', 'worker.connected', 'worker.created']);
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
    [
      signedIn,
      { ...signedIn, event_type: 'session.created', target_type: 'session' },
      paused,
      row(10, 'worker.created'),
      row(5, 'worker.created', 'w_2'),
    ],
    [],
    2,
  );
  expect(all).toEqual([
    { at: at(40), type: 'queue.paused', id: '', target: null, worker: null },
    {
      at: at(10),
      type: 'worker.created',
      id: 'w_1',
      target: { kind: 'worker', id: 'w_1', name: null },
      worker: null,
    },
  ]);
});

test('takes the name of the pool of an event or a launch from another entry', () => {
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

test('omits the steps of a start that later events repeat within seconds', () => {
  const rows = [row(3, 'job.dispatched'), row(4, 'job.starting'), row(5, 'job.running')];
  expect(types(mergeActivity(rows, [], 10))).toEqual(['job.running']);
});

/** Returns the sentence about an event of job j_1 or worker w_1, with marks for the links. */
async function sentence(type: string, language: Language = 'en', worker: string | null = 'w_1') {
  const kind = type.startsWith('job.') ? ('job' as const) : ('worker' as const);
  const target = { kind, id: 'x', name: null };
  const parts = sentenceOf({ at: at(1), type, id: 'x', target, worker }, await loadTexts(language, 'utc'));
  return parts?.map(part => (part.kind === 'text' ? part.text : `<${part.kind}>`)).join('') ?? null;
}

test('contains the job and its worker, and omits an unknown worker', async () => {
  expect(await sentence('job.running')).toBe('<target> started on <worker>');
  expect(await sentence('job.running', 'en', null)).toBe('<target> started');
  expect(await sentence('worker.offline')).toBe('<target> went offline');
  expect(await sentence('settings.tls_changed')).toBe('Settings were changed');
});

test('places the links as each language requires', async () => {
  expect(await sentence('job.running', 'ja')).toBe('<target> が <worker> で開始しました');
  for (const language of Object.keys(languages) as Language[])
    expect((await sentence('job.failed', language))?.match(/<target>|<worker>/g)).toHaveLength(2);
});

test('has a sentence for every event of the stream that the list shows', async () => {
  const shown = [...WorkerEventType.options, ...JobEventType.options].filter(
    type => !isJobUpdate(type as JobEventType) && type !== 'job.dispatched' && type !== 'job.starting',
  );
  const sentences = await Promise.all(shown.map(async type => [type, await sentence(type)] as const));
  expect(sentences.filter(([, text]) => text === null)).toEqual([]);
});

test('returns no sentence for an unknown type, or when the object is unknown', async () => {
  expect(await sentence('job.of_a_newer_server')).toBeNull();
  const t = await loadTexts('en', 'utc');
  const lost = { at: at(1), type: 'job.failed', id: 'x', target: null, worker: null };
  expect(sentenceOf(lost, t)).toBeNull();
});

test('omits the uploads of a training, and keeps other changes of its files', () => {
  const rows = ['artifact.stored', 'artifact.deleted'].map(type => ({
    ...row(10, type, 'j_1'),
    target_type: 'job' as const,
  }));
  expect(types(mergeActivity(rows, [], 10))).toEqual(['artifact.deleted']);
});
