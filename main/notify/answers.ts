import type { DeliveryAnswer } from '../orchestrator/ports/index.ts';

/** Converts an HTTP status to the result of a delivery, which determines whether to retry. */
export function answerOfStatus(status: number, retryAfterMs: number | null): DeliveryAnswer {
  const detail = `HTTP ${status}`;
  if (status >= 200 && status < 300) return { kind: 'delivered', detail };
  if (status === 429 || status >= 500) return { kind: 'temporary', detail, retryAfterMs };
  return {
    kind: 'permanent',
    detail: status >= 300 && status < 400 ? `${detail}: redirects are not followed` : detail,
  };
}

/** Parses a Retry-After header (RFC 9110, section 10.2.3). Returns milliseconds; null when absent or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | null {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}(?:\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const at = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}
