/** Tests that the panel reads the workers in small pages, so that a long list blocks neither browser nor server. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Client } from '../../../../protocol/client.ts';
import { WorkerId } from '../../../../protocol/ids.ts';
import type { WorkerView } from '../../../../protocol/worker.ts';
import { refreshWorkers } from '../../../../renderer/api/refresh.ts';
import { keyed } from '../../../../renderer/state/keyed.ts';
import { createFleetStore } from '../../../../renderer/state/stores.ts';
import { workerView } from '../worker-builders.ts';

interface PageRequest {
  readonly at: number;
  readonly cursor: string | null;
  readonly limit: number;
}

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

/** Refreshes from a fake server with `count` workers, all with the GPU utilization `server.load`. */
function startRefreshing(count: number) {
  const server = { load: 10, isDown: false };
  const view = (number: number): WorkerView =>
    workerView({ id: WorkerId.parse(`w_${number}`), gpu_utilization: server.load });
  const store = createFleetStore();
  const workers = Array.from({ length: count }, (_, number) => view(number));
  store.setState(({ fleet }) => ({
    fleet: { ...fleet, seq: 5, workers: keyed(workers.map(worker => [worker.id, worker] as const)) },
  }));
  const requests: PageRequest[] = [];
  const answer = ({ cursor = null, limit }: { cursor?: string | null; limit: number }) => {
    requests.push({ at: Date.now(), cursor, limit });
    if (server.isDown) return { ok: false, failure: { kind: 'unreachable', cause: null } };
    const from = cursor === null ? 0 : Number(cursor.slice(2)) + 1;
    const page = Array.from({ length: Math.min(limit, count - from) }, (_, index) => view(from + index));
    const next = page.length < limit ? null : (page.at(-1)?.id ?? null);
    return { ok: true, value: { workers: page, next_cursor: next, as_of_seq: 5 } };
  };
  const client = {
    call: (_row: unknown, { query }: { query: { cursor?: string; limit: number } }) =>
      Promise.resolve(answer(query)),
  } as unknown as Client;
  const emitEvent = (): void =>
    store.setState(({ fleet }) => ({ fleet: { ...fleet, recent: [...fleet.recent] } }));
  const loadOf = (number: number) =>
    store.getState().fleet.workers.get(WorkerId.parse(`w_${number}`))?.gpu_utilization;
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  return { server, store, page, requests, emitEvent, loadOf, stop: refreshWorkers({ client, store, page }) };
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('reads all workers of a small fleet every ten seconds', async () => {
  const { requests, server, loadOf, stop } = startRefreshing(3);
  await advance(400);
  server.load = 80;
  await advance(10_000);
  expect(requests).toHaveLength(2);
  expect(requests.every(({ cursor }) => cursor === null)).toBe(true);
  expect(loadOf(2)).toBe(80);
  stop();
});

test('reads a large fleet page by page with pauses, and starts over after the last page', async () => {
  const { requests, server, loadOf, stop } = startRefreshing(1_000);
  server.load = 80;
  await advance(9_000);
  expect(requests.map(({ cursor }) => cursor)).toEqual([null, 'w_249', 'w_499', 'w_749', 'w_999']);
  // `requests[index]` is the previous request, because the list starts at the second request.
  const pauses = requests.slice(1).map(({ at }, index) => at - (requests[index]?.at ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(500);
  expect(loadOf(0)).toBe(80);
  expect(loadOf(999)).toBe(80);
  await advance(2_000);
  expect(requests.at(5)?.cursor).toBe(null);
  stop();
});

test('starts a new round directly after the current round when an event arrived', async () => {
  const { requests, emitEvent, stop } = startRefreshing(600);
  await advance(350);
  emitEvent();
  await advance(2_900);
  // The three pages of the round in progress, then the first page of the round after the event.
  expect(requests.map(({ cursor }) => cursor).slice(0, 4)).toEqual([null, 'w_249', 'w_499', null]);
  stop();
});

test('reads a small fleet again within 1.5 seconds of an event', async () => {
  const { requests, emitEvent, stop } = startRefreshing(3);
  await advance(400);
  emitEvent();
  emitEvent();
  await advance(1_500);
  expect(requests).toHaveLength(2);
  stop();
});

test('reads no workers while the tab is hidden, and starts a round when the tab is shown', async () => {
  const { requests, page, stop } = startRefreshing(600);
  await advance(350);
  page.visibilityState = 'hidden';
  await advance(30_000);
  expect(requests).toHaveLength(1);
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  await advance(400);
  expect(requests.map(({ cursor }) => cursor)).toEqual([null, null]);
  stop();
});

test('ends the round when a page fails, and starts another round ten seconds later', async () => {
  const { requests, server, stop } = startRefreshing(600);
  await advance(350);
  server.isDown = true;
  await advance(600);
  server.isDown = false;
  await advance(9_000);
  expect(requests).toHaveLength(2);
  await advance(1_500);
  expect(requests.at(2)?.cursor).toBe(null);
  stop();
});

test('reads no workers after a stop', async () => {
  const { requests, emitEvent, stop } = startRefreshing(600);
  await advance(350);
  stop();
  emitEvent();
  await advance(30_000);
  expect(requests).toHaveLength(1);
});
