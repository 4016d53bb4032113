/** Tests that the panel polls the list of workers for users who may not read the event stream. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Client } from '../../../../protocol/client.ts';
import { pollWorkers } from '../../../../renderer/api/refresh.ts';
import { createFleetStore } from '../../../../renderer/state/stores.ts';
import { workerId, workerView } from '../worker-builders.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startPolling() {
  const server = { workers: [workerView()], isReachable: true, reads: 0 };
  const client = {
    call: () => {
      server.reads += 1;
      const { workers } = server;
      return Promise.resolve(
        server.isReachable
          ? { ok: true, value: { workers, total: workers.length, next_cursor: null, as_of_seq: 5 } }
          : { ok: false, failure: { kind: 'unreachable', cause: null } },
      );
    },
  } as unknown as Client;
  const store = createFleetStore();
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const stop = pollWorkers({ client, store, page });
  const names = () => [...store.getState().fleet.workers.values()].map(({ name }) => name);
  const stream = () => store.getState().stream.kind;
  return { server, store, page, stop, names, stream };
}

test('polls the workers immediately and then every ten seconds', async () => {
  const { server, stop, names, stream } = startPolling();
  await vi.advanceTimersByTimeAsync(400);
  expect([names(), stream(), server.reads]).toEqual([['rig-1'], 'polled', 1]);
  server.workers = [workerView(), workerView({ id: workerId('w_two'), name: 'rig-2' })];
  await vi.advanceTimersByTimeAsync(10_000);
  expect(names()).toEqual(['rig-1', 'rig-2']);
  stop();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.reads).toBe(2);
});

test('polls within two seconds after the user made a change in this tab', async () => {
  const { server, store, names } = startPolling();
  await vi.advanceTimersByTimeAsync(400);
  server.workers = [workerView({ name: 'renamed' })];
  store.setState(({ acted }) => ({ acted: acted + 1 }));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(names()).toEqual(['renamed']);
});

test('pauses polling while the page is hidden, and polls immediately when the page is shown', async () => {
  const { server, page } = startPolling();
  page.visibilityState = 'hidden';
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.reads).toBe(0);
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(400);
  expect(server.reads).toBe(1);
});

test('shows stale data while the server is unreachable, and polls again afterwards', async () => {
  const { server, stream, names } = startPolling();
  await vi.advanceTimersByTimeAsync(400);
  server.isReachable = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect([stream(), names()]).toEqual(['stale', ['rig-1']]);
  server.isReachable = true;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(stream()).toBe('polled');
});
