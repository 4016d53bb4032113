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
  test('names the job, its owner and its worker when the job completes', () => {
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
    const namedSpec = { ...spec, about: { ...spec.about, name: 'faces, second try' } };
    const job = makeEnded('completed', { spec: namedSpec });
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

  test('says that the cause of a failed job is unknown when no cause was reported', () => {
    const job = makePending({ spec, attempt: null });
    expect(jobNotification('job.failed', job, () => null)?.text).toMatch(/: the cause is unknown$/);
  });

  test('requests approval only for a job that needs approval', () => {
    const unapproved = makePending({ spec, approval: 'wanted' });
    expect(jobNotification('job.submitted', unapproved, () => null)?.title).toBe('flux-lora needs approval');
    expect(jobNotification('job.submitted', makePending({ spec }), () => null)).toBeNull();
  });

  test('returns null for a job event without a notification', () => {
    expect(jobNotification('job.running', makeLive('running'), () => null)).toBeNull();
  });
});

describe('workerNotification', () => {
  const silent = makeWorker({ name: 'rig-1', gone: 'silent' });

  test('names the job of a silent worker', () => {
    const notification = workerNotification(
      'worker.offline',
      silent,
      makeLive('running', { spec, user: 'ana' }),
    );
    expect(notification).toMatchObject({
      event: 'worker_lost',
      title: 'Worker rig-1 is offline',
      job: { user: 'ana' },
    });
    expect(notification?.text).toContain('Its job is flux-lora');
  });

  test('says that a silent worker had no job', () => {
    expect(workerNotification('worker.offline', silent, null)).toMatchObject({
      job: null,
      text: expect.stringContaining('no job'),
    });
  });

  test('returns null for a worker that disconnected, and for other events', () => {
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

describe('notifications about jobs without progress', () => {
  const attempt = makeAttempt({ id: attemptId('a1') });
  const jobAt = (step: number | undefined) =>
    makeLive('running', { spec, attempt, progress: step === undefined ? null : { step } });

  test('restarts the time without progress at each new step', () => {
    const first = trackSteps(new Map(), [jobAt(5)], 0);
    expect(trackSteps(first, [jobAt(5)], 60_000).get(attempt.id)).toEqual({ step: 5, since: 0 });
    expect(trackSteps(first, [jobAt(6)], 60_000).get(attempt.id)).toEqual({ step: 6, since: 60_000 });
  });

  test('tracks no steps of a job that does not run', () => {
    expect(trackSteps(new Map(), [makeLive('starting', { attempt })], 0).size).toBe(0);
  });

  test('reports a stalled job after the number of minutes in the rule, with the last step', () => {
    const lastStep = { step: 5, since: 0 };
    expect(stallNotification(jobAt(5), lastStep, 2, 119_999, null)).toBeNull();
    expect(stallNotification(jobAt(5), lastStep, 2, 120_000, 'rig-1')).toMatchObject({
      event: 'no_progress',
      text: 'No new step for 2 min. Its last step is 5.',
    });
  });

  test('reports a stall of a job without any step', () => {
    const lastStep = trackSteps(new Map(), [jobAt(undefined)], 0).get(attempt.id);
    expect(stallNotification(jobAt(undefined), lastStep, 1, 60_000, null)?.text).toContain(
      'not reported a step',
    );
  });

  test('reports no stall of a job whose steps were not tracked', () => {
    expect(stallNotification(jobAt(5), undefined, 1, 60_000, null)).toBeNull();
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

test('reports a pool only when the pool has used up its budget', () => {
  expect(budgetNotification('gpu', 10, 10)).toMatchObject({ event: 'pool_budget', page: '/pools' });
  expect(budgetNotification('gpu', 9.9, 10)).toBeNull();
  expect(budgetNotification('gpu', 99, null)).toBeNull();
});

describe('matching rules', () => {
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
  if (completed === null || disk === null) throw new Error('there is no notification');

  test.each([
    [{}, true],
    [{ enabled: false }, false],
    [{ events: ['job_failed'] }, false],
    [{ user: 'ana' }, true],
    [{ user: 'bo' }, false],
    [{ tag: 'v2' }, true],
    [{ tag: 'v' }, false],
    [{ user: 'bo', tag: 'v2' }, false],
  ] as const)(
    'matches a rule with %j to a completed job of ana with the tags faces and v2: %s',
    (changes, expected) => {
      expect(matchesRule(makeRule(changes), completed)).toBe(expected);
    },
  );

  test('matches a rule for one user and tag to notifications about the whole fleet', () => {
    expect(matchesRule(makeRule({ user: 'bo', tag: 'faces' }), disk)).toBe(true);
  });

  test('does not match a rule for one user or tag to a worker without a job', () => {
    const lost = workerNotification('worker.offline', makeWorker({ gone: 'silent' }), null);
    if (lost === null) throw new Error('there is no notification');
    expect(matchesRule(makeRule({ events: ['worker_lost'], user: 'bo' }), lost)).toBe(false);
    expect(matchesRule(makeRule({ events: ['worker_lost'], tag: 'faces' }), lost)).toBe(false);
  });

  test('returns a channel once even if several of its rules match', () => {
    const rules = [
      makeRule(),
      makeRule({ id: RuleId.parse('r2') }),
      makeRule({ channelId: ChannelId.parse('c2') }),
    ];
    expect(channelsFor(rules, completed)).toEqual(['c1', 'c2']);
  });
});
