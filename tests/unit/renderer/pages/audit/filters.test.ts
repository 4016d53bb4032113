/** Tests the filters of the audit page, in its URL and in its requests. */
import { expect, test } from 'vitest';
import {
  isEmpty,
  toSearchParams,
  toQuery,
  parseFilters,
  withGroups,
} from '../../../../../renderer/pages/audit/filters.tsx';

const filters = (text: string) => parseFilters(new URLSearchParams(text));

test('round-trips known filters through the URL and drops empty and unknown filters', () => {
  for (const text of ['', 'type=job.*&actor=ada', 'target=j_1&since=2026-01-31T12%3A00'])
    expect(toSearchParams(filters(text)).toString()).toBe(text);
  expect(toSearchParams(filters('type=&colour=red')).toString()).toBe('');
});

test('sends only valid filters, and converts local times to instants', () => {
  expect(toQuery(filters(''))).toEqual({});
  expect(toQuery(filters('type=%20job.failed&actor=ada&target=j_1'))).toEqual({
    event_type: 'job.failed',
    actor_id: 'ada',
    target_id: 'j_1',
  });
  const { since } = toQuery(filters('since=2026-01-31T12:00'));
  expect(Date.parse(since ?? '')).toBe(new Date(2026, 0, 31, 12).getTime());
  expect(toQuery(filters('since=2026-01-&until=soon'))).toEqual({});
});

test('reports whether any filter is set', () => {
  expect(isEmpty(filters(''))).toBe(true);
  expect(isEmpty(filters('until=2026'))).toBe(false);
});

test('lists each event type and each group once', () => {
  expect(withGroups(['worker.back', 'job.failed', 'worker.created', 'job.failed'])).toEqual([
    'job.*',
    'job.failed',
    'worker.*',
    'worker.back',
    'worker.created',
  ]);
});
