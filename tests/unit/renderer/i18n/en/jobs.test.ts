import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { JobId, WorkerId } from '../../../../../protocol/ids.ts';
import type { JobView } from '../../../../../protocol/job.ts';
import { parseSearch } from '../../../../../protocol/job-search.ts';
import { submit } from '../../../../../renderer/i18n/en/submit.ts';
import type { Translator } from '../../../../../renderer/i18n/index.ts';
import { loadTexts } from '../../../../support/texts.ts';
import { withPageTexts } from '../../../../../renderer/i18n/page-texts.ts';
import { checkDraft, toFieldErrors } from '../../../../../renderer/pages/jobs/submit/draft-check.ts';
import { toDraft, emptyDraft } from '../../../../../renderer/pages/jobs/submit/draft.ts';
import * as figures from '../../../../../renderer/pages/jobs/figures.ts';
import {
  chosenStates,
  countStates,
  createStateCounter,
  createMatcher,
  stateCounts,
  withState,
} from '../../../../../renderer/pages/jobs/list/filter.ts';
import {
  createRowCache,
  toQueueRows,
  isOld,
  limitOf,
  waitsForApproval,
} from '../../../../../renderer/pages/queue/order.ts';
import { jobView } from '../../../../support/job-view.ts';
import { isOffered, unavailableReason } from '../../../../../renderer/pages/jobs/job-actions.tsx';

let t: Translator;
beforeAll(async () => {
  t = await loadTexts('en', 'utc');
});

const job = (id: string, overrides: Partial<JobView> = {}): JobView =>
  jobView({ id, job_id: id, gpu_count: 1, queued_at: '2026-01-01T00:00:00.000Z', ...overrides });

const rig3 = { worker_id: WorkerId.parse('w-3'), worker_name: 'Rig-3' };

describe('the job filter', () => {
  const matches = (text: string, overrides: Partial<JobView>): boolean =>
    createMatcher(parseSearch(text))(job('j-1', overrides));

  it('parses states, aliases, users, workers and free text', () => {
    const text = 'State:failed,queued user:CI worker:rig-* tag:Base group:Lr-* "Two Words" color:red';
    expect(parseSearch(text)).toEqual({
      states: ['failed', 'pending'],
      users: ['ci'],
      workers: ['rig-*'],
      tags: ['base'],
      groups: ['lr-*'],
      words: ['two words', 'color:red'],
    });
    expect(parseSearch(' user: state:"" ')).toEqual({
      states: [],
      users: [],
      workers: [],
      tags: [],
      groups: [],
      words: [],
    });
  });

  it('matches a part of the name, a group by pattern, and tags only as a whole', () => {
    const overrides = { name: 'Tulips', tags: ['Base', 'b'], group: 'Lr-1' };
    for (const text of ['tulip', 'group:lr-*', 'group:LR-1', 'tag:base tag:b'])
      expect(matches(text, overrides)).toBe(true);
    for (const text of ['group:lr', 'tag:bas', 'tag:base tag:c'])
      expect(matches(text, overrides)).toBe(false);
    expect(matches('group:*', { group: null })).toBe(false);
  });

  it('matches states, users, workers by pattern, and words', () => {
    expect(matches('', {})).toBe(true);
    expect(matches('state:pending', { approval: 'wanted' })).toBe(false);
    expect(matches('state:blocked', { approval: 'wanted' })).toBe(true);
    expect(matches('state:starting', { status: 'dispatched' })).toBe(true);
    expect(matches('state:dispatched', { status: 'starting' })).toBe(true);
    expect(matches('state:nonsense', {})).toBe(false);
    expect(matches('user:ci', { user: 'CI' })).toBe(true);
    expect(matches('user:ci', { user: 'ci-2' })).toBe(false);
    expect(matches('user:a.b', { user: 'aXb' })).toBe(false);
    expect(matches('worker:rig-*', rig3)).toBe(true);
    expect(matches('worker:w-3', rig3)).toBe(true);
    expect(matches('worker:rig', rig3)).toBe(false);
    expect(matches('worker:ig-3', rig3)).toBe(false);
    expect(matches('worker:*', {})).toBe(false);
    expect(matches('DIG j-1', {})).toBe(true);
    expect(matches('digits other', {})).toBe(false);
  });

  it('parses any text without an error', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        expect(createMatcher(parseSearch(text))(job('j-1'))).toBeTypeOf('boolean');
      }),
    );
  });

  it('finds words in the user, the worker and the error of a failed job', () => {
    const failed: Partial<JobView> = { ...rig3, status: 'failed', user: 'Ada', error_message: 'CUDA error' };
    expect(matches('cuda RIG ada', failed)).toBe(true);
    expect(matches('cuda', { ...failed, status: 'pending' })).toBe(false);
  });

  it('adds a state to the filter text, and removes a state that the text contains', () => {
    expect(withState('user:ci "a b"', 'failed')).toBe('state:failed user:ci "a b"');
    expect(withState('state:failed user:ci state:running', 'pending')).toBe(
      'state:pending,running,failed user:ci',
    );
    expect(withState('state:failed,running', 'failed')).toBe('state:running');
    expect(withState('state:failed', 'failed')).toBe('');
    expect([...chosenStates(parseSearch('state:failed,nonsense state:dispatched'))]).toEqual([
      'starting',
      'failed',
    ]);
  });

  it('counts jobs by state', () => {
    const counts = countStates([
      job('a'),
      job('b', { approval: 'wanted' }),
      job('c', { approval: 'given' }),
      job('d', { status: 'dispatched' }),
    ]);
    expect(counts).toMatchObject({ pending: 2, blocked: 1, starting: 1, failed: 0 });
  });

  it('counts again only when a job arrives, leaves or changes state', () => {
    const count = createStateCounter();
    const first = count([job('a'), job('b', { status: 'running' })]);
    expect(first).toMatchObject({ pending: 1, running: 1 });
    expect(count([job('a'), job('b', { status: 'running', priority: 9 })])).toBe(first);
    expect(count([job('a'), job('b', { status: 'failed' })])).toMatchObject({ running: 0, failed: 1 });
    expect(count([job('a')])).toMatchObject({ pending: 1, failed: 0 });
    expect(count([])).toMatchObject({ pending: 0 });
  });

  it("converts the server's counts by status into states", () => {
    const by_status = { pending: 7, dispatched: 1, starting: 2, failed: 4 };
    expect(stateCounts({ total: 14, by_status, blocked: 3 })).toMatchObject({
      pending: 4,
      blocked: 3,
      starting: 3,
      failed: 4,
      running: 0,
    });
  });
});

describe('job actions', () => {
  it('returns why an action is unavailable when the state of the job does not allow the action', () => {
    expect(unavailableReason('cancel', job('a'))).toBeNull();
    expect(unavailableReason('cancel', job('a', { status: 'cancelling' }))).toBe('jobs.not.cancelling');
    expect(unavailableReason('cancel', job('a', { status: 'failed' }))).toBe('jobs.not.ended');
    expect(unavailableReason('retry', job('a', { status: 'running' }))).toBe('jobs.not.goesOn');
    expect(unavailableReason('delete', job('a', { status: 'completed' }))).toBeNull();
    expect(unavailableReason('top', job('a', { status: 'running' }))).toBe('jobs.not.waits');
    expect(unavailableReason('priority', job('a'))).toBeNull();
    expect(unavailableReason('duplicate', job('a', { status: 'failed' }))).toBeNull();
  });

  it('offers approve and reject only while the job waits for approval, and save and sample only if the job supports them', () => {
    const allow = () => true;
    expect(isOffered('approve', job('a', { approval: 'wanted' }), allow)).toBe(true);
    expect(isOffered('reject', job('a', { approval: 'given' }), allow)).toBe(false);
    expect(isOffered('approve', job('a', { approval: 'wanted', status: 'failed' }), allow)).toBe(false);
    expect(isOffered('cancel', job('a'), allow)).toBe(true);
    const supporting: Partial<JobView> = { status: 'running', requests: ['sample'] };
    expect(isOffered('sample', job('a', supporting), allow)).toBe(true);
    expect(isOffered('save', job('a', supporting), allow)).toBe(false);
    expect(isOffered('sample', job('a', { ...supporting, status: 'completed' }), allow)).toBe(false);
    expect(isOffered('sample', job('a', supporting), () => false)).toBe(false);
  });
});

describe('job figures', () => {
  it('shows a duration in its two largest units', () => {
    expect(figures.duration(0, 'en')).toBe('0s');
    expect(figures.duration(-3, 'en')).toBe('0s');
    expect(figures.duration(252, 'en')).toBe('4m 12s');
    expect(figures.duration(3_600, 'en')).toBe('1h');
    expect(figures.duration(2 * 86_400 + 3 * 3_600 + 59, 'en')).toBe('2d 3h');
  });

  it('computes the run time from start to completion or now', () => {
    const started = { started_at: '2026-01-01T00:00:00.000Z', completed_at: null };
    expect(figures.ranFor({ started_at: null, completed_at: null }, 0)).toBeNull();
    expect(figures.ranFor(started, Date.parse('2026-01-01T00:01:00.000Z'))).toBe(60);
    expect(figures.ranFor({ ...started, completed_at: '2026-01-01T00:00:05.000Z' }, 0)).toBe(5);
    // The clock of the browser may be behind the clock of the server.
    expect(figures.ranFor(started, 0)).toBe(0);
  });

  it('shows no run time while the job waits for its next attempt', () => {
    const started = { started_at: '2026-01-01T00:00:00.000Z', attempt: 1 };
    const now = Date.parse('2026-01-01T00:01:00.000Z');
    expect(figures.runTime(job('a', started), now)).toBeNull();
    expect(figures.runTime(job('a', { ...started, status: 'running' }), now)).toBe(60);
  });

  it('rounds losses and speeds for display', () => {
    expect(figures.figure(0.12345, 'en')).toBe('0.123');
    expect(figures.figure(0.000012, 'en')).toBe('1.2E-5');
    expect(figures.figure(0, 'en')).toBe('0');
    expect(figures.speed(2.5, t)).toBe('2.5/s');
    expect(figures.speed(0.02, t)).toBe('1.2/min');
  });

  it('shows progress as steps, as one step, as a percentage or as a stage, whichever is known', () => {
    expect(figures.progressText(null, t)).toBe('');
    expect(figures.progressText({ step: 538, total_steps: 2814 }, t)).toBe('538 / 2,814');
    expect(figures.progressText({ step: 538 }, t)).toBe('step 538');
    expect(figures.progressText({ percent: 19.4 }, t)).toBe('19%');
    expect(figures.progressText({ stage: 'caching' }, t)).toBe('caching');
  });

  it('shows the name of a priority, and adds the number unless the name means exactly this number', () => {
    expect(figures.priorityText(20, t)).toBe('high');
    expect(figures.priorityText(15, t)).toBe('normal (15)');
    expect(figures.priorityText(50, t)).toBe('critical (50)');
  });
});

describe('the job form', () => {
  it('builds a submit request from the draft', () => {
    const checked = checkDraft(
      {
        ...emptyDraft,
        configName: ' digits ',
        labels: [
          { id: 1, key: 'gpu', pattern: 'a100*' },
          { id: 2, key: '', pattern: ' ' },
        ],
        gpus: '2',
        timeoutHours: '1.5',
        priority: 20,
      },
      withPageTexts(t, submit),
    );
    expect(checked).toMatchObject({
      ok: true,
      body: {
        config_name: 'digits',
        worker_labels: { gpu: 'a100*' },
        gpu_count: 2,
        timeout_s: 5400,
        priority: 20,
        gpu_vram_gb: undefined,
      },
    });
  });

  it('reports invalid fields before sending', () => {
    const invalid = { ...emptyDraft, gpus: 'two', labels: [{ id: 1, key: '', pattern: 'x' }] };
    expect(checkDraft(invalid, withPageTexts(t, submit))).toEqual({
      ok: false,
      errors: {
        config_name: 'Choose a configuration, or write one.',
        gpu_count: 'Enter a number.',
        worker_labels: 'Enter a label for each pattern.',
      },
    });
    const inline = { ...emptyDraft, config: '{' };
    expect(checkDraft(inline, withPageTexts(t, submit))).toEqual({
      ok: false,
      errors: { config: 'Invalid JSON at line 1, column 2.' },
    });
    const repeatedLabels = [1, 2].map(id => ({ id, key: 'a', pattern: 'x' }));
    expect(
      checkDraft({ ...emptyDraft, configName: 'a', labels: repeatedLabels }, withPageTexts(t, submit)),
    ).toMatchObject({
      errors: { worker_labels: 'Enter each label only once.' },
    });
  });

  it('starts with the values of the job that the user duplicates', () => {
    const original = job('a', {
      worker_labels: { gpu: 'a*' },
      timeout_s: 3600,
      max_attempts: 2,
      priority: 3,
      priority_name: 'low',
      approval: 'given',
      accelerator: 'cuda',
      gpu_vram_gb: 24,
      retry_on: ['timeout'],
      on_lost_contact: 'stop',
      target: 'worker',
    });
    const draft = toDraft(original, { own: null, inFolder: null });
    expect(draft).toMatchObject({ config: '', configName: 'digits', retries: '1', timeoutHours: '1' });
    expect(checkDraft(draft, withPageTexts(t, submit))).toMatchObject({
      ok: true,
      body: {
        config_name: 'digits',
        priority: 3,
        worker_labels: { gpu: 'a*' },
        target: 'worker',
        gpu_count: 1,
        gpu_vram_gb: 24,
        accelerator: 'cuda',
        max_retries: 1,
        timeout_s: 3600,
        retry_on: ['timeout'],
        on_lost_contact: 'stop',
        requires_approval: true,
      },
    });
  });

  it('shows each server error next to its field', () => {
    const problem = {
      type: 'about:blank',
      title: '',
      status: 400,
      detail: 'no such config',
      code: 'invalid_request',
    };
    const failure = (overrides: object) =>
      ({ kind: 'problem', status: 400, problem: { ...problem, ...overrides } }) as const;
    expect(toFieldErrors(failure({ code: 'config_not_found' }))).toEqual({ config_name: 'no such config' });
    expect(
      toFieldErrors(failure({ errors: [{ field: 'worker_labels.gpu', message: 'too many stars' }] })),
    ).toEqual({ worker_labels: 'gpu: too many stars' });
    expect(toFieldErrors(failure({ errors: [{ field: 'idempotency_key', message: 'no' }] }))).toBeNull();
    const mixed = [
      { field: 'gpu_count', message: 'too small' },
      { field: 'body', message: 'unknown key' },
    ];
    expect(toFieldErrors(failure({ errors: mixed }))).toBeNull();
    expect(toFieldErrors(failure({ code: 'target_unavailable' }))).toBeNull();
    expect(toFieldErrors({ kind: 'unreachable', cause: null })).toBeNull();
  });
});

describe('the queue', () => {
  const idsWithPlaces = (
    jobs: readonly JobView[],
    order: readonly string[] | null,
    places?: readonly number[],
  ) =>
    toQueueRows(
      new Map(jobs.map(entry => [entry.id, entry])),
      order && { ids: order.map(id => JobId.parse(id)), places },
      createRowCache(),
    ).map(({ job: { id }, place }) => `${id} ${place}`);

  it('lists jobs in the order given by the server', () => {
    expect(idsWithPlaces([job('a'), job('b', { priority: 50 }), job('c')], ['c', 'a', 'b'])).toEqual([
      'c 1',
      'a 2',
      'b 3',
    ]);
  });

  it('skips jobs that left the queue and moves the remaining jobs up', () => {
    const jobs = [job('a', { status: 'running' }), job('b'), job('c', { approval: 'wanted' }), job('d')];
    expect(idsWithPlaces(jobs, ['a', 'gone', 'b', 'c', 'd'])).toEqual(['b 1', 'd 2']);
  });

  it('shows the positions from the server when jobs of other users are hidden', () => {
    expect(idsWithPlaces([job('a'), job('b')], ['a', 'b'], [2, 7])).toEqual(['a 2', 'b 7']);
  });

  it('appends jobs without a position in the order in which the server would run them', () => {
    const jobs = [
      job('late', { queued_at: '2026-01-02T00:00:00.000Z' }),
      job('early'),
      job('raised', { boosts: 2 }),
      job('most', { priority: 50 }),
      job('raised-low', { priority: 0, boosts: 9 }),
      job('top', { is_top: true, priority: 0 }),
      job('listed', { priority: 0 }),
    ];
    const unlisted = ['top null', 'most null', 'raised-low null', 'raised null', 'early null', 'late null'];
    expect(idsWithPlaces(jobs, ['listed'])).toEqual(['listed 1', ...unlisted]);
    expect(idsWithPlaces(jobs.slice(0, -1), null)).toEqual(unlisted);
  });

  it('lists jobs that wait for other jobs last, independent of their priority', () => {
    const parent = {
      job_id: JobId.parse('listed'),
      name: 'base',
      status: 'running',
      retry_id: null,
    } as const;
    const after = (done: boolean): JobView['after'] => ({ on: 'success', parents: [{ ...parent, done }] });
    const jobs = [
      job('child', { priority: 50, after: after(false) }),
      job('free', { after: after(true) }),
      job('listed'),
    ];
    expect(idsWithPlaces(jobs, ['listed'])).toEqual(['listed 1', 'free null', 'child null']);
  });

  it('reuses the row object of a job that neither changed nor moved', () => {
    const jobs = new Map([job('a'), job('b'), job('c')].map(entry => [entry.id, entry]));
    const order = { ids: [...jobs.keys()], places: undefined };
    const cache = createRowCache();
    const [a, b, c] = toQueueRows(jobs, order, cache);
    jobs.set(JobId.parse('b'), job('b', { priority: 20 }));
    const nextRows = toQueueRows(jobs, order, cache);
    expect(nextRows.map((row, at) => row === [a, b, c][at])).toEqual([true, false, true]);
    expect(toQueueRows(jobs, { ...order, ids: order.ids.slice(1) }, cache)[1]).toMatchObject({
      job: { id: 'c' },
      place: 2,
    });
  });

  it('treats a job as waiting for approval only until it ends', () => {
    expect(waitsForApproval(job('a', { approval: 'wanted' }))).toBe(true);
    expect(waitsForApproval(job('a', { approval: 'wanted', status: 'failed' }))).toBe(false);
    expect(waitsForApproval(job('a'))).toBe(false);
  });

  it('selects for a cleanup the jobs that ended at least the given number of days ago', () => {
    const now = Date.parse('2026-01-31T00:00:00.000Z');
    const ended = job('a', { status: 'failed', completed_at: '2026-01-01T00:00:00.000Z' });
    expect(isOld(ended, 30, now)).toBe(true);
    expect(isOld(ended, 31, now)).toBe(false);
    expect(isOld(job('b'), 0, now)).toBe(false);
  });

  it('parses a limit: empty text is null, and invalid text is undefined', () => {
    expect(['', ' 4 ', '0', '-1', '1.5', 'x', '100001'].map(limitOf)).toEqual([
      null,
      4,
      0,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
