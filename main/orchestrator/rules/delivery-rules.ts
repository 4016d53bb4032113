import type { WallMs } from '../model.ts';
import type { Delivery, DeliveryAnswer } from '../ports/notifications.ts';

const firstDelayMs = 1_000;
const maxDelayMs = 30 * 60_000;
/** Maximum wait that a receiver can request. */
const maxRetryAfterMs = 60 * 60_000;
/** Maximum time from the creation of a delivery to its last try. */
const maxAgeMs = 24 * 60 * 60_000;
/** Maximum length of a stored result in characters. */
const maxResult = 300;

/**
 * Returns the delay before the next try. The delay doubles with each try, up to 30 minutes.
 *
 * @internal
 */
export const retryDelayMs = (tries: number): number => Math.min(maxDelayMs, firstDelayMs * 2 ** (tries - 1));

/**
 * Returns the delivery after one try. Temporary failures are tried again for 24 hours; a receiver can request a later
 * try. A permanent failure ends the delivery.
 */
export function afterTry(delivery: Delivery, answer: DeliveryAnswer, now: WallMs): Delivery {
  const next = { ...delivery, tries: delivery.tries + 1, result: answer.detail.slice(0, maxResult) };
  if (answer.kind === 'delivered') return { ...next, state: 'delivered', endedAt: now };
  if (answer.kind !== 'temporary') return { ...next, state: 'failed', endedAt: now };
  const requestedMs = Math.min(answer.retryAfterMs ?? 0, maxRetryAfterMs);
  const dueAt = now + Math.max(retryDelayMs(next.tries), requestedMs);
  return dueAt - delivery.createdAt > maxAgeMs
    ? { ...next, state: 'failed', endedAt: now }
    : { ...next, dueAt };
}
