import { describe, expect, test } from 'vitest';
import type { JobStatus } from '../../../../../protocol/job.ts';
import type { Dependencies } from '../../../../../main/orchestrator/model.ts';
import {
  afterEnd,
  type AwaitedParent,
  describeParents,
  isQueued,
  rootOf,
  unmetOf,
  waitForParents,
} from '../../../../../main/orchestrator/rules/dependencies.ts';
import { jobId } from '../builders.ts';

const dependsOn = (on: Dependencies['on'], ...ids: readonly string[]): Dependencies => ({
  on,
  parents: ids.map(id => ({ id: jobId(id), root: jobId(id), isDone: false })),
});
const endedJob = (id: string, status: 'completed' | 'failed' | 'cancelled', root: string | null = null) => ({
  id: jobId(id),
  status,
  retryRoot: root === null ? null : jobId(root),
});
const doneParents = ({ parents }: Dependencies) => parents.map(({ isDone }) => isDone);

describe('afterEnd', () => {
  test.each([
    ['success', endedJob('j_1', 'completed'), [true, false]],
    ['success', endedJob('j_1', 'failed'), [false, false]],
    ['success', endedJob('j_1', 'cancelled'), [false, false]],
    ['success', endedJob('j_9', 'completed', 'j_1'), [true, false]],
    ['success', endedJob('j_9', 'completed'), [false, false]],
    ['end', endedJob('j_2', 'completed'), [false, true]],
    ['end', endedJob('j_2', 'failed'), [false, true]],
    ['end', endedJob('j_9', 'completed', 'j_2'), [false, false]],
  ] as const)(
    'with after_on "%s", marks the parents that are done after the end of %j: %j',
    (on, end, done) => {
      expect(doneParents(afterEnd(dependsOn(on, 'j_1', 'j_2'), end))).toEqual(done);
    },
  );

  test('keeps waiting for a completed parent that lacks the input files of the job', () => {
    const inputs = [{ name: 'lora', from: jobId('j_1'), file: 'result' }];
    const dependencies = { ...dependsOn('success', 'j_1', 'j_2'), inputs };
    const result = afterEnd(dependencies, endedJob('j_1', 'completed'), () => false);
    expect(result).toEqual(dependencies);
    expect(
      doneParents(afterEnd(dependencies, endedJob('j_2', 'completed'), ({ id }) => id === 'j_2')),
    ).toEqual([false, true]);
  });

  test('keeps parents that are already marked as done', () => {
    const first = afterEnd(dependsOn('end', 'j_1', 'j_2'), endedJob('j_1', 'failed'));
    expect(unmetOf(afterEnd(first, endedJob('j_2', 'failed')))).toBe(0);
  });
});

test('counts the parents that a job still waits for', () => {
  const dependencies = dependsOn('end', 'j_1', 'j_2');
  expect([
    unmetOf(null),
    unmetOf(dependencies),
    unmetOf(afterEnd(dependencies, endedJob('j_1', 'failed'))),
  ]).toEqual([0, 2, 1]);
});

test('puts a job into the queue unless it waits for approval or for other jobs', () => {
  const dependencies = dependsOn('end', 'j_1');
  expect(isQueued({ approval: null, dependencies: null })).toBe(true);
  expect(isQueued({ approval: 'given', dependencies: null })).toBe(true);
  expect(isQueued({ approval: 'wanted', dependencies: null })).toBe(false);
  expect(isQueued({ approval: null, dependencies })).toBe(false);
});

test('returns the root of a retry, or the job itself if the job is no retry', () => {
  expect(rootOf(endedJob('j_1', 'failed'))).toBe('j_1');
  expect(rootOf(endedJob('j_3', 'failed', 'j_1'))).toBe('j_1');
});

const parent = (
  status: JobStatus | 'blocked',
  leftMs: number | null = null,
  name = 'flux',
): AwaitedParent => ({
  id: jobId('j_1'),
  name,
  status,
  leftMs,
  trouble: null,
});
const minutesToMs = (minutes: number): number => minutes * 60_000;

describe('describeParents', () => {
  const trouble = (kind: 'uploading' | 'missing', text: string): AwaitedParent => ({
    ...parent('completed'),
    trouble: { kind, text },
  });

  const lacking = {
    kind: 'missing',
    text: 'has no checkpoint (input lora)',
    input: { name: 'lora', file: 'checkpoint best' },
  } as const;

  test.each([
    [
      [trouble('uploading', 'is still uploading its files')],
      'Waits for flux, which is still uploading its files',
    ],
    [
      [trouble('missing', 'has no checkpoint')],
      'Waits for flux, which has no checkpoint. Retry that job, or cancel this one',
    ],
    [
      [{ ...parent('completed'), trouble: lacking }],
      'Waits for flux, which has no checkpoint (input lora). Retry that job, submit this one again with another file, or cancel it',
    ],
    [[parent('running')], 'Waits for flux (running)'],
    [[parent('running', minutesToMs(0.2))], 'Waits for flux (running, less than a minute left)'],
    [[parent('running', minutesToMs(40))], 'Waits for flux (running, about 40 min left)'],
    [[parent('running', minutesToMs(300))], 'Waits for flux (running, about 5 h left)'],
    [[parent('running', minutesToMs(3 * 24 * 60))], 'Waits for flux (running, about 3 days left)'],
    [[parent('blocked')], 'Waits for flux (waits for approval)'],
    [[parent('completed')], 'Waits for flux, which has completed'],
    [[parent('failed')], 'Waits for flux, which failed. Retry that job, or cancel this one'],
    [
      [parent('pending'), parent('cancelled', null, 'sdxl')],
      'Waits for 2 jobs: sdxl, which was cancelled, flux (pending). Retry that job, or cancel this one',
    ],
    [
      [parent('failed', null, 'a'), parent('failed', null, 'b')],
      'Waits for 2 jobs: a, which failed, b, which failed. Retry those jobs, or cancel this one',
    ],
    [
      ['a', 'b', 'c', 'd', 'e'].map(name => parent('pending', null, name)),
      'Waits for 5 jobs: a (pending), b (pending), c (pending) and 2 more',
    ],
  ])('describes the wait for the parents %j', (parents, text) => {
    expect(describeParents(parents)).toBe(text);
  });
});

test('converts a missing file to parameters with the input', () => {
  const input = { name: 'lora', file: 'checkpoint best' };
  const trouble = { kind: 'missing', text: 'has no checkpoint (input lora)', input } as const;
  expect(waitForParents([{ ...parent('completed'), trouble }]).params).toMatchObject({
    files: 'missing',
    input: 'lora',
    file: 'checkpoint best',
  });
});

test('converts the wait to parameters, with the parent that needs an action first', () => {
  expect(waitForParents([parent('running', 61_000), parent('failed', null, 'sdxl')])).toEqual({
    code: 'after',
    params: { count: 2, job_id: 'j_1', name: 'sdxl', state: 'failed' },
    workers: [],
  });
  expect(waitForParents([parent('running', 61_400)]).params).toEqual({
    count: 1,
    job_id: 'j_1',
    name: 'flux',
    state: 'running',
    left_s: 61,
  });
  const trouble = { kind: 'missing', text: 'has no checkpoint' } as const;
  expect(waitForParents([parent('running'), { ...parent('completed'), trouble }]).params).toMatchObject({
    state: 'completed',
    files: 'missing',
    detail: 'has no checkpoint',
  });
  expect(waitForParents([])).toEqual({ code: 'after', params: { count: 0 }, workers: [] });
});
