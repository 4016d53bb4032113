import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createPointBook, type PointBook } from '../../../../agent/metrics/point-book.ts';
import type { BarePoint } from '../../../../agent/metrics/point-list.ts';
import type { MetricPoint } from '../../../../protocol/metrics-api.ts';
import type { Progress } from '../../../../protocol/reports.ts';

const bookOf = (isAdopted = false, adoptedMs = 0): PointBook => createPointBook({ isAdopted, adoptedMs });
const note = (book: PointBook, progress: Progress, atMs = 0, gaps: readonly string[] = []): void =>
  book.note({ progress, gaps }, atMs, false);

/** Takes all points from the book, like an orchestrator that accepts each batch. */
function takeAll(book: PointBook): readonly MetricPoint[] {
  const all: MetricPoint[] = [];
  book.closeStep();
  while (!book.isEmpty()) {
    const batch = book.batch();
    all.push(...batch);
    expect(book.taken((batch.at(-1)?.n ?? 0) + 1)).toBe(true);
  }
  return all;
}

describe('printed steps', () => {
  test('merges all output about one step into one point with the latest values', () => {
    const book = bookOf();
    note(book, { step: 1, loss: 9 }, 10);
    note(book, { step: 1, loss: 1, learning_rate: 1e-4 }, 20);
    note(book, { metrics: { grad: 3 } }, 30);
    note(book, { step: 2, loss: 2, epoch: 1 }, 40);
    expect(takeAll(book)).toEqual([
      { n: 0, elapsed_ms: 30, step: 1, values: { loss: 1, learning_rate: 1e-4, grad: 3 } },
      { n: 1, elapsed_ms: 40, step: 2, epoch: 1, values: { loss: 2 } },
    ]);
  });

  test('sends a redrawn step once, and later only its new values', () => {
    const book = bookOf();
    note(book, { step: 1, loss: 1 });
    expect(takeAll(book)).toHaveLength(1);
    note(book, { step: 1, loss: 1 }, 50);
    expect(takeAll(book)).toEqual([]);
    note(book, { step: 1, loss: 1, metrics: { eval_loss: 4 } }, 60);
    expect(takeAll(book)).toMatchObject([{ n: 1, step: 1, values: { eval_loss: 4 } }]);
  });

  test('creates no point for a step without figures', () => {
    const book = bookOf();
    note(book, { step: 5, percent: 10, total_steps: 9 });
    note(book, { metrics: { own_loss: 1 } });
    expect(takeAll(book)).toMatchObject([{ step: 5, values: { own_loss: 1 } }]);
  });

  test('records a gap as null, and converts metric names to keys', () => {
    const book = bookOf();
    note(book, { step: 1, metrics: { 'smooth loss, all': 2 } }, 0, ['loss']);
    expect(takeAll(book)).toMatchObject([{ values: { loss: null, smooth_loss_all: 2 } }]);
  });

  test('creates one point for each line without a step', () => {
    const book = bookOf();
    for (const loss of [3, 3, 2]) note(book, { loss });
    expect(takeAll(book).map(({ values }) => values['loss'])).toEqual([3, 3, 2]);
  });

  test('limits a point of the trainer to 28 values, and sends GPU figures in a separate point with the last closed step', () => {
    const book = bookOf();
    note(book, {
      step: 7,
      loss: 1,
      metrics: Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`m${n}`, n])),
    });
    book.closeStep();
    note(book, { step: 8, loss: 2 });
    // The GPU point has the last closed step, because an agent that restarts continues after the highest sent step.
    book.add({ 'gpu.0.utilization': 99 }, 70);
    book.add({}, 80);
    const [trainer, gpu, next, ...more] = takeAll(book);
    expect(next).toMatchObject({ step: 8, values: { loss: 2 } });
    expect(gpu).toMatchObject({ step: 7, elapsed_ms: 70, values: { 'gpu.0.utilization': 99 } });
    expect(Object.keys(trainer?.values ?? {})).toHaveLength(28);
    expect(trainer?.values['loss']).toBe(1);
    expect(more).toEqual([]);
  });
});

describe('backlog', () => {
  test('thins a backlog out evenly, and keeps order, gaps and the newest points', () => {
    const book = bookOf();
    const steps = 100_000;
    for (let step = 1; step <= steps; step += 1) {
      note(book, { step, loss: step }, step, step === 777 ? ['odd'] : []);
      // The sender calls isEmpty() from time to time, which thins the backlog out.
      if (step % 50 === 0) book.isEmpty();
    }
    const kept = takeAll(book);
    expect(kept.length).toBeLessThanOrEqual(4_096);
    expect(kept.length).toBeGreaterThan(1_000);
    expect(kept.at(-1)?.values['loss']).toBe(steps);
    expect(kept.filter(({ values }) => values['odd'] === null)).toHaveLength(1);
    // `kept[index]` is the previous point, because the list starts at the second point.
    const distances = kept.slice(1).map(({ step }, index) => (step ?? 0) - (kept[index]?.step ?? 0));
    // The newest point is always kept, so its distance may be smaller.
    const minDistance = Math.min(...distances.slice(0, -1));
    expect(minDistance).toBeGreaterThan(0);
    expect(Math.max(...distances)).toBeLessThanOrEqual(2 * minDistance);
    expect(kept.map(({ n }) => n)).toEqual(kept.map((_, n) => n));
  });

  test('does not change points while they are being sent', () => {
    const book = bookOf();
    for (let step = 1; step <= 100; step += 1) note(book, { step, loss: step });
    book.closeStep();
    const sent = book.batch();
    for (let step = 101; step <= 50_000; step += 1) {
      note(book, { step, loss: step });
      if (step % 50 === 0) book.isEmpty();
    }
    expect(book.batch().slice(0, sent.length)).toEqual(sent);
    expect(book.taken(sent.length)).toBe(true);
    expect(takeAll(book)[0]?.step).toBeGreaterThan(100);
  });

  test('thins out the points of a very fast trainer', () => {
    const book = bookOf();
    for (let step = 1; step <= 5_000; step += 1) note(book, { step, loss: step });
    const points = takeAll(book);
    expect(points.length).toBeLessThanOrEqual(129);
    expect(points.at(-1)?.values['loss']).toBe(5_000);
  });
});

test('reports that the server accepted no points, and drops points that the server already has', () => {
  const book = bookOf();
  note(book, { step: 1, loss: 1 });
  book.closeStep();
  expect(book.isEmpty()).toBe(false);
  expect(book.batch()).toHaveLength(1);
  expect(book.taken(0)).toBe(false);
  // The server expects point 9 next, so the book drops its points before 9.
  expect(book.taken(9)).toBe(true);
  expect(book.isEmpty()).toBe(true);
  note(book, { step: 2, loss: 1 });
  expect(takeAll(book)).toMatchObject([{ n: 9 }]);
});

describe('adopted runs', () => {
  /** The book of an agent that restarted at 10 s and has read this earlier output again. */
  const adoptedBook = (earlierOutput: readonly Progress[]): PointBook => {
    const book = bookOf(true, 10_000);
    for (const progress of earlierOutput) book.note({ progress, gaps: [] }, 10_000, true);
    return book;
  };
  const reply = (lastStep: number | null, next = 40) =>
    ({ success: true, next, last_step: lastStep, last_elapsed_ms: 4_000 }) as const;

  test('sends only new points of an adopted run, with plausible times', () => {
    const book = adoptedBook(
      [1, 2, 3, 4, 5].flatMap(step => [
        { step, loss: step },
        { step, loss: step },
      ]),
    );
    note(book, { step: 5, loss: 5 }, 10_050);
    note(book, { step: 6, loss: 6 }, 10_100);
    book.add({ gpu: 1 }, 10_120);
    book.closeStep();
    expect([book.isEmpty(), book.isNumbered()]).toEqual([false, false]);
    book.number(reply(3));
    expect(book.isNumbered()).toBe(true);
    const points = takeAll(book);
    const times = points.map(({ elapsed_ms: ms }) => ms);
    expect(times).toEqual([6_000, 8_000, 10_120, 10_100]);
    expect(points.map(({ n, step }) => [n, step])).toEqual([
      [40, 4],
      [41, 5],
      [42, 5],
      [43, 6],
    ]);
  });

  test('sends no printed step that the server already has', () => {
    const book = adoptedBook([
      { step: 1, loss: 1 },
      { step: 2, loss: 2 },
    ]);
    book.closeStep();
    book.number(reply(2));
    expect(book.isEmpty()).toBe(true);
    // A step may take minutes, so GPU figures get a separate point with the last step.
    book.add({ gpu: 1 }, 11_000);
    expect(takeAll(book)).toMatchObject([{ n: 40, step: 2, values: { gpu: 1 } }]);
  });

  test('drops earlier values without a step, because an earlier process may have sent these values', () => {
    const book = adoptedBook([{ loss: 1 }, { loss: 2 }]);
    book.closeStep();
    book.number(reply(null, 0));
    expect(book.isEmpty()).toBe(true);
  });
});

test('numbers the points of any output from 0 without gaps', () => {
  const step = fc.record({ step: fc.nat({ max: 30 }), loss: fc.integer() });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 60 }),
      fc.array(fc.boolean(), { maxLength: 60 }),
      (outputs, takesAfter) => {
        const rising = outputs.toSorted((a, b) => a.step - b.step);
        const book = bookOf();
        const points: MetricPoint[] = [];
        rising.forEach((progress, index) => {
          note(book, progress, index);
          if (takesAfter[index] === true) points.push(...takeAll(book));
        });
        points.push(...takeAll(book));
        expect(points.map(({ n }) => n)).toEqual(points.map((_, n) => n));
        expect(points.map(point => point.step)).toEqual([...new Set(rising.map(each => each.step))]);
      },
    ),
  );
});

describe('figures from files', () => {
  const filePoints = (step: number, values: BarePoint['values'], atMs = 0): BarePoint => ({
    elapsed_ms: atMs,
    step,
    values,
  });
  const losses = (points: readonly MetricPoint[]) =>
    points.flatMap(({ step, values }) => (values['loss'] === undefined ? [] : [[step, values['loss']]]));

  test('prefers a figure from a file over the printed figure with the same key', () => {
    const book = bookOf();
    note(book, { step: 1, loss: 0.5, steps_per_second: 3 });
    book.record({ live: [filePoints(1, { loss: 0.512 })], late: [] });
    note(book, { step: 2, loss: 0.4, steps_per_second: 4 });
    const points = takeAll(book);
    expect(losses(points)).toEqual([[1, 0.512]]);
    expect(points.flatMap(({ values }) => values['steps_per_second'] ?? [])).toEqual([3, 4]);
  });

  test('sends no file figures for a step whose printed value was sent', () => {
    const book = bookOf();
    note(book, { step: 1, loss: 0.5 });
    note(book, { step: 2, loss: 0.4 });
    expect(takeAll(book)).toHaveLength(2);
    book.record({ live: [filePoints(1, { loss: 0.512 }), filePoints(3, { loss: 0.3 })], late: [] });
    expect(losses(takeAll(book))).toEqual([[3, 0.3]]);
  });

  test('uses the later of two file figures for the same step', () => {
    const book = bookOf();
    book.record({
      live: [filePoints(1, { loss: 1 }), filePoints(2, { loss: 2 }), filePoints(1, { loss: 3, acc: 1 })],
      late: [],
    });
    expect(losses(takeAll(book))).toEqual([
      [1, 3],
      [2, 2],
    ]);
  });

  test('corrects printed values with late files, and adds steps that were not printed', () => {
    const book = bookOf();
    note(book, { step: 10, loss: 0.5 }, 10);
    note(book, { step: 20, loss: 0.4 }, 20);
    book.record({
      live: [],
      late: [
        filePoints(10, { loss: 0.51 }),
        filePoints(20, { loss: 0.41 }),
        filePoints(30, { loss: 0.31 }, 30),
      ],
    });
    note(book, { step: 30, loss: 0.3 }, 30);
    note(book, { step: 40, loss: 0.2 }, 40);
    expect(losses(takeAll(book))).toEqual([
      [10, 0.51],
      [20, 0.41],
      [30, 0.31],
      [40, 0.2],
    ]);
  });

  test('sends only file figures of steps after the last step on the server when the agent has restarted', () => {
    const book = bookOf(true, 10_000);
    const all = [1, 2, 3, 4].map(step => filePoints(step, { loss: step }));
    book.record({ live: all.slice(0, 3), late: [] });
    expect(book.isEmpty()).toBe(false);
    book.number({ success: true, next: 7, last_step: 2, last_elapsed_ms: 0 });
    book.record({ live: all.slice(1), late: [] });
    const points = takeAll(book);
    expect(points.map(({ n, step }) => [n, step])).toEqual([
      [7, 3],
      [8, 4],
    ]);
  });

  test('bounds the number of waiting file figures', () => {
    const book = bookOf();
    book.record({
      live: Array.from({ length: 10_000 }, (_, step) => filePoints(step, { loss: step })),
      late: [],
    });
    const points = takeAll(book);
    expect(points.length).toBeLessThanOrEqual(4_096);
    expect(points.at(-1)?.values['loss']).toBe(9_999);
  });
});
