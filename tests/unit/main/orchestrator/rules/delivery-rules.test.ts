import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../../../main/orchestrator/ports/notifications.ts';
import { afterTry, retryDelayMs } from '../../../../../main/orchestrator/rules/delivery-rules.ts';
import { ChannelId, DeliveryId } from '../../../../../protocol/ids.ts';

const dayMs = 86_400_000;

const makeDelivery = (changes: Partial<Delivery> = {}): Delivery => ({
  id: DeliveryId.parse('d1'),
  channelId: ChannelId.parse('c1'),
  occasion: 'event:1',
  subject: 'j1',
  notification: { event: 'disk_low', title: '', text: '', job: null, worker: null, page: '/' },
  state: 'pending',
  tries: 0,
  result: null,
  createdAt: 0,
  dueAt: 0,
  endedAt: null,
  ...changes,
});

const temporaryFailure = (retryAfterMs: number | null) =>
  ({ kind: 'temporary', detail: 'HTTP 503', retryAfterMs }) as const;

test.each([
  [1, 1_000],
  [2, 2_000],
  [5, 16_000],
  [11, 1_024_000],
  [12, 1_800_000],
  [2_000, 1_800_000],
])('delays the retry after try %d by %d ms', (tries, expected) => {
  expect(retryDelayMs(tries)).toBe(expected);
});

describe('afterTry', () => {
  test('ends a delivery that the receiver accepted', () => {
    expect(afterTry(makeDelivery({ tries: 2 }), { kind: 'delivered', detail: 'HTTP 204' }, 7)).toMatchObject({
      state: 'delivered',
      tries: 3,
      result: 'HTTP 204',
      endedAt: 7,
    });
  });

  test('ends a delivery as failed after a permanent failure', () => {
    const failed = afterTry(makeDelivery(), { kind: 'permanent', detail: 'x'.repeat(999) }, 7);
    expect(failed).toMatchObject({ state: 'failed', endedAt: 7 });
    expect(failed.result).toHaveLength(300);
  });

  test('retries a delivery after a temporary failure, with a longer delay after each try', () => {
    expect(afterTry(makeDelivery(), temporaryFailure(null), 10)).toMatchObject({
      state: 'pending',
      dueAt: 1_010,
    });
    expect(afterTry(makeDelivery({ tries: 3 }), temporaryFailure(null), 10)).toMatchObject({ dueAt: 8_010 });
  });

  test('delays a retry by the time that the receiver requests, but at most by one hour', () => {
    expect(afterTry(makeDelivery(), temporaryFailure(60_000), 0)).toMatchObject({ dueAt: 60_000 });
    expect(afterTry(makeDelivery(), temporaryFailure(dayMs), 0)).toMatchObject({ dueAt: 3_600_000 });
  });

  test('ends a delivery as failed when the next try would be more than 24 hours after the event', () => {
    expect(afterTry(makeDelivery(), temporaryFailure(null), dayMs - 1_000)).toMatchObject({
      state: 'pending',
    });
    expect(afterTry(makeDelivery(), temporaryFailure(null), dayMs)).toMatchObject({
      state: 'failed',
      endedAt: dayMs,
    });
  });
});
