import { expect, test } from 'vitest';
import { JobId } from '../../../../../../protocol/ids.ts';
import {
  pointsFor,
  queriesFor,
  readCurves,
} from '../../../../../../renderer/pages/jobs/curves/curve-reads.ts';
import { toggled, parseView, withView } from '../../../../../../renderer/pages/jobs/curves/view.ts';
import { createClient } from '../../../../../../protocol/client.ts';
import { bucket, curvesOf } from '../../../curves-builders.ts';

const otherJob = JobId.parse('j_2');
const view = (text: string) => parseView(new URLSearchParams(text));

test('round-trips the view through the URL', () => {
  const params = withView(new URLSearchParams('tab=metrics'), {
    axis: 'time',
    smoothing: 0.6,
    isLog: true,
    attempts: new Set([3, 1]),
    zoom: [100.4, 2_000],
    others: [otherJob, JobId.parse('j_3')],
  });
  expect(params.toString()).toBe(
    'tab=metrics&axis=time&smooth=0.6&scale=log&attempts=1%2C3&zoom=100-2000&with=j_2%2Cj_3',
  );
  expect(parseView(params)).toEqual({
    axis: 'time',
    smoothing: 0.6,
    isLog: true,
    attempts: new Set([1, 3]),
    zoom: [100, 2_000],
    others: [otherJob, JobId.parse('j_3')],
  });
  const plain = { axis: 'step', smoothing: 0, isLog: false, attempts: null, zoom: null, others: [] } as const;
  expect(withView(params, plain).toString()).toBe('tab=metrics');
});

test('drops the zoom when the axis changes', () => {
  const zoomed = new URLSearchParams('zoom=1-2');
  expect(parseView(withView(zoomed, { axis: 'time' })).zoom).toBeNull();
  expect(parseView(withView(zoomed, { axis: 'step' })).zoom).toEqual([1, 2]);
});

test.each([
  'axis=up&smooth=much&scale=lin&attempts=,0,x,-1&zoom=9-3',
  'smooth=-1&attempts=1e3&zoom=1-1',
  'smooth=NaN&zoom=-1-5',
  'zoom=5',
  'with=,no such id,',
])('ignores invalid parameters (%s) in the URL', text => {
  expect(view(text)).toEqual({
    axis: 'step',
    smoothing: 0,
    isLog: false,
    attempts: null,
    zoom: null,
    others: [],
  });
  expect(view('smooth=77').smoothing).toBe(0.99);
});

test('compares a job with at most four different other jobs', () => {
  const params = new URLSearchParams('with=j_1,j_2,j_2,j_3,j_4,j_5');
  expect(parseView(params).others).toEqual(['j_1', 'j_2', 'j_3', 'j_4']);
  expect(parseView(params, otherJob).others).toEqual(['j_1', 'j_3', 'j_4']);
});

test('toggles single attempts, and returns null when all or no attempts are chosen', () => {
  const all = [1, 2, 3];
  const withoutSecond = toggled(null, 2, all);
  expect(withoutSecond).toEqual(new Set([1, 3]));
  expect(toggled(withoutSecond, 3, all)).toEqual(new Set([1]));
  expect(toggled(new Set([1]), 1, all)).toBeNull();
  expect(toggled(withoutSecond, 2, all)).toBeNull();
});

test('requests one point per pixel, within the limit of a response', () => {
  expect(pointsFor(390, 3)).toBe(400);
  expect(pointsFor(401, 3)).toBe(600);
  expect(pointsFor(1_000, 100)).toBe(200);
  expect(pointsFor(1_000, 5_000)).toBe(100);
  expect(pointsFor(0, 0)).toBe(200);
  expect(pointsFor(90_000, 1)).toBe(5_000);
});

const whole = curvesOf(
  [0, { loss: [bucket(1, 1)] }],
  [60_000, { loss: [bucket(9, 2)] }],
  [600_000, { loss: [bucket(99, 3)] }],
);

test('requests a step range once, and a time range per attempt relative to the start of the attempt', () => {
  expect(queriesFor('step', [1.5, 9.2], whole)).toEqual([{ from_step: '1', to_step: '10' }]);
  expect(queriesFor('time', [70_000.5, 90_000], whole)).toEqual([
    { attempt: '1', from_ms: '70000', to_ms: '90000' },
    { attempt: '2', from_ms: '10000', to_ms: '30000' },
  ]);
});

/** Reads curves from a server that gives the answers in order. For a null answer, the server is unreachable. */
async function readWith(zoom: readonly [number, number] | null, answers: readonly (object | null)[]) {
  const queries: string[] = [];
  const remainingAnswers = [...answers];
  const client = createClient({
    baseUrl: 'http://panel.test',
    headers: () => ({}),
    timeoutMs: 10_000,
    fetch: url => {
      queries.push(url.search);
      const answer = remainingAnswers.shift();
      return answer === null || answer === undefined
        ? Promise.reject(new TypeError('no server'))
        : Promise.resolve(Response.json(answer));
    },
  });
  const request = { axis: 'step', zoom, points: 400 } as const;
  return {
    result: await readCurves(client, JobId.parse('j_1'), request, new AbortController().signal),
    queries,
  };
}

test('requests the whole range once', async () => {
  const { result, queries } = await readWith(null, [whole]);
  expect(result).toEqual({ ok: true, value: { whole, shown: whole } });
  expect(queries).toEqual(['?points=400']);
});

test('requests the zoomed and the whole range, and keeps the attempts outside the zoomed range as empty', async () => {
  const part = { ...whole, attempts: whole.attempts.slice(1, 2) };
  const { result, queries } = await readWith([5, 10], [whole, part]);
  expect(queries).toEqual(['?points=50', '?from_step=5&to_step=10&points=400']);
  if (!result.ok) throw new Error('the curves could not be read');
  expect(result.value.whole).toEqual(whole);
  expect(result.value.shown.attempts.map(({ attempt, series }) => [attempt, series.length])).toEqual([
    [1, 0],
    [2, 1],
    [3, 0],
  ]);
});

test('returns a failure when the whole or the zoomed range cannot be read', async () => {
  expect((await readWith([5, 10], [whole, null])).result.ok).toBe(false);
  expect((await readWith(null, [null])).result.ok).toBe(false);
});
