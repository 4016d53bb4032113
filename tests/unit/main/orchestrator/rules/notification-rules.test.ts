import { describe, expect, test } from 'vitest';
import { ChannelId, RuleId } from '../../../../../protocol/ids.ts';
import type { Rule } from '../../../../../main/orchestrator/ports/notifications.ts';
import {
  budgetNotification,
  channelsFor,
  diskNotification,
  hasNanLoss,
  jobNotification,
  matchesRule,
  nanNotification,
  trackSteps,
  stallNotification,
  workerNotification,
} from '../../../../../main/orchestrator/rules/notification-rules.ts';
import {
  attemptId,
  makeAttempt,
  makeEnd,
  makeEnded,
  makeLive,
  makePending,
  makeSpec,
  makeWorker,
} from '../builders.ts';

const spec = makeSpec({ configName: 'flux-lora' });
const GiB = 2 ** 30;

describe('jobNotification', () => {
  test('names the job, its owner and its worker when it completes', () => {
    const job = makeEnded('completed', { spec, user: 'ana' });
    expect(jobNotification('job.completed', job, () => 'rig-1')).toMatchObject({
      event: 'job_completed',
      title: 'flux-lora completed',
      text: "ana's job completed on rig-1.",
      job: { id: job.id, name: 'flux-lora', user: 'ana', tags: [] },
      worker: 'rig-1',
      page: `/jobs/${job.id}`,
    });
  });

  test("uses the job's own name instead of the name of its config", () => {
    const named = { ...spec, about: { ...spec.about, name: 'faces, second try' } };
    const job = makeEnded('completed', { spec: named });
    expect(jobNotification('job.completed', job, () => null)).toMatchObject({
      title: 'faces, second try completed',
      job: { name: 'faces, second try' },
    });
  });

  test('does not look up the worker of a job for an event that needs no notification', () => {
    const lookUp = (): never => {
      throw new Error('the worker was looked up');
    };
    expect(jobNotification('job.running', makeLive('running'), lookUp)).toBeNull();
  });

  test('contains the error of a failed job, cut to 500 characters', () => {
    const attempt = makeAttempt({ end: makeEnd({ error: 'x'.repeat(900) }) });
    const text =
      jobNotification('job.failed', makeEnded('failed', { spec, attempt }), () => null)?.text ?? '';
    expect(text).toContain('job failed: xxx');
    expect(text).toHaveLength(500);
  });

  test('contains the cause of a failed job without an error', () => {
    const job = { ...makeEnded('failed', { spec, attempt: null }), cause: 'oom' };
    expect(jobNotification('job.failed', job as ReturnType<typeof makeEnded>, () => null)?.text).toMatch(
      /: oom$/,
    );
  });

  test('says that the cause is unknown when nothing was reported', () => {
    const job = makePending({ spec, attempt: null });
    expect(jobNotification('job.failed', job, () => null)?.text).toMatch(/: the cause is unknown$/);
  });

  test('asks for approval only for a job that needs it', () => {
    const wanted = makePending({ spec, approval: 'wanted' });
    expect(jobNotification('job.submitted', wanted, () => null)?.title).toBe('flux-lora needs approval');
    expect(jobNotification('job.submitted', makePending({ spec }), () => null)).toBeNull();
  });

  test('returns null for other events', () => {
    expect(jobNotification('job.running', makeLive('running'), () => null)).toBeNull();
  });
});

describe('workerNotification', () => {
  const silent = makeWorker({ name: 'rig-1', gone: 'silent' });

  test('names the job of a silent worker', () => {
    const lost = workerNotification('worker.offline', silent, makeLive('running', { spec, user: 'ana' }));
    expect(lost).toMatchObject({
      event: 'worker_lost',
      title: 'Worker rig-1 is offline',
      job: { user: 'ana' },
    });
    expect(lost?.text).toContain('Its job is flux-lora');
  });

  test('says that a silent worker had no job', () => {
    expect(workerNotification('worker.offline', silent, null)).toMatchObject({
      job: null,
      text: expect.stringContaining('no job'),
    });
  });

  test('returns null for a worker that said goodbye, and for other events', () => {
    expect(workerNotification('worker.offline', makeWorker({ gone: 'goodbye' }), null)).toBeNull();
    expect(workerNotification('worker.back', silent, null)).toBeNull();
  });
});

test.each([
  [[['loss', [{ value: 1 }, { value: null }]]], true],
  [[['train/loss', [{ value: null }]]], true],
  [[['train_Loss', [{ value: null }]]], true],
  [[['loss', [{ value: 0.1 }]]], false],
  [[['gloss', [{ value: null }]]], false],
  [[['lr', [{ value: null }]]], false],
  [[], false],
] as const)('finds a loss of NaN in %j: %s', (samples, expected) => {
  expect(hasNanLoss(samples)).toBe(expected);
});

test('names the job whose loss is NaN', () => {
  expect(nanNotification(makeLive('running', { spec }), 'rig-1')).toMatchObject({
    event: 'loss_nan',
    title: 'flux-lora: the loss is not a number',
    worker: 'rig-1',
  });
});

describe('a stall', () => {
  const attempt = makeAttempt({ id: attemptId('a1') });
  const at = (step: number | undefined) =>
    makeLive('running', { spec, attempt, progress: step === undefined ? null : { step } });

  test('starts again with each new step', () => {
    const first = trackSteps(new Map(), [at(5)], 0);
    expect(trackSteps(first, [at(5)], 60_000).get(attempt.id)).toEqual({ step: 5, since: 0 });
    expect(trackSteps(first, [at(6)], 60_000).get(attempt.id)).toEqual({ step: 6, since: 60_000 });
  });

  test('is not seen for a job that does not run', () => {
    expect(trackSteps(new Map(), [makeLive('starting', { attempt })], 0).size).toBe(0);
  });

  test('is reported after the minutes of the rule, with the last step', () => {
    const seen = { step: 5, since: 0 };
    expect(stallNotification(at(5), seen, 2, 119_999, null)).toBeNull();
    expect(stallNotification(at(5), seen, 2, 120_000, 'rig-1')).toMatchObject({
      event: 'no_progress',
      text: 'No new step for 2 min. Its last step is 5.',
    });
  });

  test('is reported for a job without any step', () => {
    const seen = trackSteps(new Map(), [at(undefined)], 0).get(attempt.id);
    expect(stallNotification(at(undefined), seen, 1, 60_000, null)?.text).toContain('not reported a step');
  });

  test('is not reported for a job that was not seen', () => {
    expect(stallNotification(at(5), undefined, 1, 60_000, null)).toBeNull();
  });
});

test.each([
  [3.9 * GiB, 2 * GiB, true],
  [4 * GiB, 2 * GiB, false],
  [0.5 * GiB, 0, true],
  [1 * GiB, 0, false],
])('reports a disk with %d bytes free and %d reserved: %s', (free, reserve, expected) => {
  expect(diskNotification(free, reserve) !== null).toBe(expected);
});

test('reports a pool only when it has a budget and has used it', () => {
  expect(budgetNotification('gpu', 10, 10)).toMatchObject({ event: 'pool_budget', page: '/pools' });
  expect(budgetNotification('gpu', 9.9, 10)).toBeNull();
  expect(budgetNotification('gpu', 99, null)).toBeNull();
});

describe('rules', () => {
  const makeRule = (changes: Partial<Rule> = {}): Rule => ({
    id: RuleId.parse('r1'),
    channelId: ChannelId.parse('c1'),
    events: ['job_completed', 'disk_low'],
    user: null,
    tag: null,
    stalledMinutes: 30,
    enabled: true,
    ...changes,
  });
  const completed = jobNotification(
    'job.completed',
    makeEnded('completed', {
      spec: { ...spec, about: { ...spec.about, tags: ['faces', 'v2'] } },
      user: 'ana',
    }),
    () => null,
  );
  const disk = diskNotification(0, 0);
  if (completed === null || disk === null) throw new Error('no notification');

  test.each([
    [{}, true],
    [{ enabled: false }, false],
    [{ events: ['job_failed'] }, false],
    [{ user: 'ana' }, true],
    [{ user: 'bo' }, false],
    [{ tag: 'v2' }, true],
    [{ tag: 'v' }, false],
    [{ user: 'bo', tag: 'v2' }, false],
  ] as const)('with %j match a completed job of ana with the tags faces and v2: %s', (changes, expected) => {
    expect(matchesRule(makeRule(changes), completed)).toBe(expected);
  });

  test('of one user and tag still match what concerns the whole fleet', () => {
    expect(matchesRule(makeRule({ user: 'bo', tag: 'faces' }), disk)).toBe(true);
  });

  test('of one user or tag do not match a worker without a job', () => {
    const lost = workerNotification('worker.offline', makeWorker({ gone: 'silent' }), null);
    if (lost === null) throw new Error('no notification');
    expect(matchesRule(makeRule({ events: ['worker_lost'], user: 'bo' }), lost)).toBe(false);
    expect(matchesRule(makeRule({ events: ['worker_lost'], tag: 'faces' }), lost)).toBe(false);
  });

  test('name a channel once, even if several match', () => {
    const rules = [
      makeRule(),
      makeRule({ id: RuleId.parse('r2') }),
      makeRule({ channelId: ChannelId.parse('c2') }),
    ];
    expect(channelsFor(rules, completed)).toEqual(['c1', 'c2']);
  });
});
