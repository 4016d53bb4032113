import { describe, expect, test } from 'vitest';
import { AttemptId, JobId, WorkerId } from '../../../../../protocol/ids.ts';
import { type Bar, shownEnd, type Timeline, toBars } from '../../../../../renderer/pages/timeline/bars.ts';
import {
  barAt,
  createLayout,
  neighbour,
  rowsWithin,
  type RowWorker,
  workersToShow,
} from '../../../../../renderer/pages/timeline/layout.ts';

const now = 1_000;
const createRow = (id: string, name: string | null = id): RowWorker => ({ id, name, isDeleted: false });
const workers = [createRow('w_1'), createRow('w_2'), createRow('w_3')];

const createBar = (worker: string, from: number, to: number | null, overrides: Partial<Bar> = {}): Bar => ({
  key: `${worker} ${from}`,
  jobId: JobId.parse(`j_${worker}_${from}`),
  workerId: WorkerId.parse(worker),
  name: 'flux-lora',
  attempt: 1,
  state: to === null ? 'running' : 'completed',
  from,
  startedAt: from,
  to,
  expectedTo: null,
  isFirst: true,
  ...overrides,
});

const layoutOf = (bars: readonly Bar[], hasNamesAbove = false) =>
  createLayout({ workers, bars: bars.toSorted((a, b) => a.from - b.from), now, hasNamesAbove });
const keysOf = (bars: readonly { readonly bar: Bar }[]) => bars.map(({ bar }) => bar.key);

describe('bars of a response', () => {
  const at = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  const [job, worker, otherWorker] = [JobId.parse('j_1'), WorkerId.parse('w_1'), WorkerId.parse('w_2')];
  const bar: Timeline['bars'][number] = {
    attempt_id: AttemptId.parse('a_1'),
    job_id: job,
    attempt: 1,
    worker_id: worker,
    rank: null,
    offered_at: at(10),
    started_at: at(12),
    ended_at: null,
    outcome: null,
    expected_end_at: at(99),
  };
  const timeline: Timeline = {
    bars: [bar],
    predictions: [],
    jobs: [{ id: job, name: null, config_name: 'flux-lora', status: 'recovering', user: 'ada' }],
    workers: [],
    is_cut: false,
    now: at(50),
    as_of_seq: 7,
  };

  test('shows the status of the job while the attempt is live, and the outcome of the attempt afterwards', () => {
    const [live] = toBars(timeline);
    expect(live).toMatchObject({ name: 'flux-lora', state: 'recovering', from: 10_000, to: null });
    expect(live).toMatchObject({ startedAt: 12_000, expectedTo: 99_000 });
    const ended = { ...bar, ended_at: at(20), outcome: 'given_up' };
    expect(toBars({ ...timeline, bars: [ended] })).toMatchObject([{ state: 'given_up', to: 20_000 }]);
    const withUnknownOutcome = { ...timeline, bars: [{ ...ended, outcome: 'vanished' }], jobs: [] };
    expect(toBars(withUnknownOutcome)).toMatchObject([{ state: 'withdrawn', name: 'j_1' }]);
  });

  test('shows the name of the job when the job has a name', () => {
    const jobs = timeline.jobs.map(entry => ({ ...entry, name: 'warm tones' }));
    expect(toBars({ ...timeline, jobs })).toMatchObject([{ name: 'warm tones' }]);
  });

  test('returns a bar for each worker of a prediction, and sorts the bars by start', () => {
    const predictions = [
      { job_id: job, starts_at: at(60), ends_at: null, worker_ids: [worker, otherWorker], basis: '' },
      { job_id: JobId.parse('j_2'), starts_at: at(5), ends_at: at(6), worker_ids: [otherWorker], basis: '' },
    ];
    const bars = toBars({ ...timeline, predictions });
    expect(bars.map(({ state, workerId, isFirst }) => [state, workerId, isFirst])).toEqual([
      ['predicted', otherWorker, true],
      ['recovering', worker, true],
      ['predicted', worker, true],
      ['predicted', otherWorker, false],
    ]);
    expect(bars[0]).toMatchObject({ name: 'j_2', to: 6_000, attempt: null });
  });

  test('ends a live bar at the predicted end, but not before now', () => {
    expect(shownEnd(createBar('w_1', 0, null), now)).toBe(now);
    expect(shownEnd(createBar('w_1', 0, null, { expectedTo: 1_500 }), now)).toBe(1_500);
    expect(shownEnd(createBar('w_1', 0, null, { expectedTo: 500 }), now)).toBe(now);
    expect(shownEnd(createBar('w_1', 0, 7), now)).toBe(7);
    const predicted = createBar('w_1', 2_000, null, { state: 'predicted' });
    // Without a predicted end, a bar is ten minutes long.
    expect(shownEnd(predicted, now)).toBe(2_000 + 600_000);
    expect(shownEnd({ ...predicted, to: 3_000 }, now)).toBe(3_000);
  });
});

describe('rows and lanes', () => {
  test('returns a row for each worker, even for a worker without bars', () => {
    const { rows, height } = layoutOf([createBar('w_2', 0, 10)]);
    expect(rows.map(row => [row.id, row.bars.length])).toEqual([
      ['w_1', 0],
      ['w_2', 1],
      ['w_3', 0],
    ]);
    expect(new Set(rows.map(row => row.height)).size).toBe(1);
    expect(height).toBe(rows.reduce((sum, row) => sum + row.height, 0));
  });

  test('places the overlapping bars of a row in separate lanes, and reuses a lane as soon as its bar ends', () => {
    const bars = [createBar('w_1', 0, 10), createBar('w_1', 5, 20), createBar('w_1', 10, 30)];
    const { rows } = layoutOf(bars);
    const [first, second] = rows;
    const tops = first?.bars.map(({ top }) => top) ?? [];
    expect(tops[1]).toBeGreaterThan(tops[0] ?? 0);
    expect(tops[2]).toBe(tops[0]);
    expect(first?.height).toBeGreaterThan(second?.height ?? 0);
    expect(second?.top).toBe(first?.height);
  });

  test('leaves space above the bars when the names are above them', () => {
    const [namesBeside, namesAbove] = [
      layoutOf([createBar('w_1', 0, 1)]),
      layoutOf([createBar('w_1', 0, 1)], true),
    ];
    expect(namesAbove.bars[0]?.top).toBeGreaterThan((namesBeside.bars[0]?.top ?? 0) + 10);
    expect(namesAbove.height).toBeGreaterThan(namesBeside.height);
  });

  test('finds rows by their vertical range', () => {
    const { rows } = layoutOf([]);
    const [, second] = rows;
    const top = second?.top ?? 0;
    const bottom = top + (second?.height ?? 0);
    expect(rowsWithin(rows, top, bottom).map(({ id }) => id)).toEqual(['w_2']);
    expect(rowsWithin(rows, top - 1, bottom + 1)).toHaveLength(3);
  });

  test('sorts workers by name with deleted workers last, and includes workers that only bars name', () => {
    const deleted = { ...createRow('w_9', 'a-deleted'), isDeleted: true };
    const shown = workersToShow(
      [createRow('w_10', 'rig-10'), createRow('w_2', 'rig-2')],
      [deleted, createRow('w_2'), createRow('w_x', null)],
    );
    expect(shown.map(({ id }) => id)).toEqual(['w_2', 'w_10', 'w_x', 'w_9']);
  });
});

describe('moves of a job between bars', () => {
  const job = JobId.parse('j_moved');

  test('connects each attempt of a job to its next attempt, and the last attempt to the prediction', () => {
    const bars = [
      createBar('w_2', 20, 30, { jobId: job, attempt: 2 }),
      createBar('w_1', 0, 10, { jobId: job, attempt: 1 }),
      createBar('w_3', 40, 50, { jobId: job, attempt: null, state: 'predicted' }),
      createBar('w_3', 0, 10),
    ];
    const { moves } = layoutOf(bars);
    expect(moves.map(({ from, to }) => [from.bar.workerId, to.bar.workerId])).toEqual([
      ['w_1', 'w_2'],
      ['w_2', 'w_3'],
    ]);
  });

  test('ignores bars of the same attempt on other workers', () => {
    const bars = [
      createBar('w_1', 0, 10, { jobId: job }),
      createBar('w_2', 0, 10, { jobId: job, isFirst: false }),
    ];
    expect(layoutOf(bars).moves).toEqual([]);
  });
});

describe('finding bars', () => {
  const bars = [createBar('w_1', 0, 10), createBar('w_1', 100, 200), createBar('w_3', 90, 95)];
  const layout = layoutOf(bars);
  const [first, second, third] = layout.bars;

  test('finds the bar at a point, within the given tolerance', () => {
    const y = (first?.top ?? 0) + 2;
    expect(barAt(layout, y, 150, 0)).toBe(second);
    expect(barAt(layout, y, 97, 3)).toBe(second);
    expect(barAt(layout, y, 97, 2)).toBeNull();
    expect(barAt(layout, 0, 150, 0)).toBeNull();
    expect(barAt(layout, 10_000, 150, 0)).toBeNull();
  });

  test('moves to the next and previous bar in time, and to the bars of the next and previous row', () => {
    if (first === undefined || second === undefined || third === undefined) throw new Error('no bars');
    expect(keysOf(layout.bars)).toEqual(['w_1 0', 'w_1 100', 'w_3 90']);
    expect(neighbour(layout, first, 'next')).toBe(second);
    expect(neighbour(layout, second, 'next')).toBe(third);
    expect(neighbour(layout, third, 'next')).toBeNull();
    expect(neighbour(layout, second, 'previous')).toBe(first);
    expect(neighbour(layout, second, 'down')).toBe(third);
    expect(neighbour(layout, third, 'up')).toBe(second);
    expect(neighbour(layout, third, 'down')).toBeNull();
    expect(neighbour(layout, first, 'up')).toBeNull();
  });
});
