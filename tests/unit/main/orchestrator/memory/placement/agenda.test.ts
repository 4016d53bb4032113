import { expect, test } from 'vitest';
import { createAgenda } from '../../../../../../main/orchestrator/memory/placement/ranking.ts';

test('returns an added key in the next call, and a scheduled key once its newest due time is reached', () => {
  const agenda = createAgenda<string>();
  agenda.add('now');
  agenda.add('now');
  agenda.addAt('soon', 10);
  agenda.addAt('late', 20);
  agenda.addAt('postponed', 5);
  agenda.addAt('postponed', 30);
  agenda.addAt('now and soon', 10);
  agenda.add('now and soon');
  expect([...agenda.take(9)].toSorted()).toEqual(['now', 'now and soon']);
  expect([...agenda.take(9)]).toEqual([]);
  expect([...agenda.take(10)].toSorted()).toEqual(['now and soon', 'soon']);
  expect([...agenda.take(30)].toSorted()).toEqual(['late', 'postponed']);
  expect([...agenda.take(1_000)]).toEqual([]);
});

test('returns a key that was added during the iteration in the next call', () => {
  const agenda = createAgenda<string>();
  agenda.add('first');
  for (const key of agenda.take(0)) agenda.add(`${key} again`);
  expect([...agenda.take(0)]).toEqual(['first again']);
});
