/** Tests that the losses from before the panel opened are read once per visible attempt, and for few jobs at a time. */
import { beforeEach, expect, test } from 'vitest';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { JobId } from '../../../../protocol/ids.ts';
import { createEarlierLosses, type EarlierLosses } from '../../../../renderer/api/earlier-losses.ts';
import { allPoints } from '../../../../renderer/state/sparklines.ts';
import type { Curves } from '../../../../renderer/pages/jobs/curves/lines.ts';
import { createFleetStore, type FleetStore } from '../../../../renderer/state/stores.ts';
import { bucket, curvesOf } from '../curves-builders.ts';

type Answer =
  | { readonly ok: true; readonly value: Curves }
  | { readonly ok: false; readonly failure: CallFailure };
const idOf = (n: number) => JobId.parse(`j_${n}`);
const startedAt = '2026-03-01T12:00:00.000Z';

let requests: { readonly id: string; readonly query: unknown; readonly respond: (answer: Answer) => void }[];
let timers: Set<() => void>;
let store: FleetStore;
let earlier: EarlierLosses;
beforeEach(() => {
  requests = [];
  timers = new Set();
  store = createFleetStore();
  const client: Client = {
    call: (_row, input) =>
      new Promise(resolve => {
        const { params, query } = input as {
          readonly params: { readonly id: string };
          readonly query: unknown;
        };
        requests.push({ id: params.id, query, respond: resolve as (answer: Answer) => void });
      }),
  };
  const after = (_ms: number, callback: () => void) => {
    timers.add(callback);
    return () => void timers.delete(callback);
  };
  earlier = createEarlierLosses({ client, store, after });
});

/** Runs all timers. */
const runTimers = (): void => {
  for (const callback of timers) {
    timers.delete(callback);
    callback();
  }
};
const curve = (...values: readonly (number | null)[]): Answer => {
  const curves = curvesOf([0, { loss: values.map((value, step) => bucket(step, value)) }]);
  return {
    ok: true,
    value: { ...curves, attempts: curves.attempts.map(attempt => ({ ...attempt, started_at: startedAt })) },
  };
};
/** Answers the request with this index. Resolves when the answer has taken effect. */
async function answer(index: number, result: Answer): Promise<void> {
  requests[index]?.respond(result);
  await new Promise(resolve => setImmediate(resolve));
}
const pointsIn = (n: number) => {
  const series = store.getState().losses.get(idOf(n));
  return series === undefined ? null : allPoints(series);
};

test('stores the earlier losses with their times, and skips points without a value', async () => {
  earlier.register(idOf(1), 1);
  runTimers();
  expect(requests[0]).toMatchObject({ id: 'j_1', query: { attempt: 1, keys: 'loss', points: 30 } });
  await answer(0, curve(0.9, null, 0.7));
  expect(pointsIn(1)).toEqual([
    { at: Date.parse(startedAt), loss: 0.9 },
    { at: Date.parse(startedAt) + 2_000, loss: 0.7 },
  ]);
});

test('requests the losses of each attempt once, however many callers watch the attempt', async () => {
  earlier.register(idOf(1), 1)();
  earlier.register(idOf(1), 1);
  earlier.register(idOf(1), 1);
  runTimers();
  await answer(0, curve(0.9));
  earlier.register(idOf(1), 1);
  runTimers();
  expect(requests).toHaveLength(1);
  earlier.register(idOf(1), 2);
  runTimers();
  expect(requests).toHaveLength(2);
});

test('requests no losses when the caller unregisters before the request is sent', () => {
  const unregister = earlier.register(idOf(1), 1);
  unregister();
  runTimers();
  expect(requests).toEqual([]);
});

test('reads the losses of four jobs at a time and skips unregistered jobs', async () => {
  const unregister = [1, 2, 3, 4, 5, 6].map(n => earlier.register(idOf(n), 1));
  runTimers();
  expect(requests.map(({ id }) => id)).toEqual(['j_1', 'j_2', 'j_3', 'j_4']);
  unregister[4]?.();
  await answer(2, curve(0.9));
  expect(requests.map(({ id }) => id)).toEqual(['j_1', 'j_2', 'j_3', 'j_4', 'j_6']);
});

test('stores nothing when a read fails or returns no start time, and reads the next job', async () => {
  for (const n of [1, 2, 3, 4, 5]) earlier.register(idOf(n), 1);
  runTimers();
  await answer(0, { ok: false, failure: { kind: 'unreachable', cause: null } });
  await answer(1, { ok: true, value: curvesOf([0, { loss: [bucket(1, 0.5)] }]) });
  expect([pointsIn(1), pointsIn(2)]).toEqual([null, null]);
  expect(requests).toHaveLength(5);
});
