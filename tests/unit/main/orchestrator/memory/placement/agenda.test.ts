import { expect, test } from 'vitest';
import { createAgenda } from '../../../../../../main/orchestrator/memory/placement/ranking.ts';

test('returns each key once when it is due, at the newest time that was set', () => {
  const agenda = createAgenda<string>();
  agenda.add('now');
  agenda.add('now');
  agenda.addAt('soon', 10);
  agenda.addAt('late', 20);
  agenda.addAt('put off', 5);
  agenda.addAt('put off', 30);
  agenda.addAt('both', 10);
  agenda.add('both');
  expect([...agenda.take(9)].toSorted()).toEqual(['both', 'now']);
  expect([...agenda.take(9)]).toEqual([]);
  expect([...agenda.take(10)].toSorted()).toEqual(['both', 'soon']);
  expect([...agenda.take(30)].toSorted()).toEqual(['late', 'put off']);
  expect([...agenda.take(1_000)]).toEqual([]);
});

test('returns a key that was added during the iteration in the next call', () => {
  const agenda = createAgenda<string>();
  agenda.add('first');
  for (const key of agenda.take(0)) agenda.add(`${key} again`);
  expect([...agenda.take(0)]).toEqual(['first again']);
});
