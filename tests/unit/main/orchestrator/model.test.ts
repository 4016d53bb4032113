import { expect, test } from 'vitest';
import { asWorker, isEphemeral, nameOf, system } from '../../../../main/orchestrator/model.ts';
import { makeAgent, makeWorker, workerId } from './builders.ts';

test('names each actor: a token, a worker or the orchestrator', () => {
  expect(nameOf({ type: 'admin', id: 'ada', address: null })).toBe('ada');
  expect(nameOf(asWorker(workerId('w_1')))).toBe('w_1');
  expect(nameOf(system)).toBe('system');
});

test("reads whether a worker is ephemeral from its agent's last registration, or else from its type", () => {
  expect(isEphemeral(makeWorker({ type: 'ephemeral', agent: null }))).toBe(true);
  expect(isEphemeral(makeWorker({ type: 'persistent', agent: null }))).toBe(false);
  expect(isEphemeral(makeWorker({ type: 'ephemeral', agent: makeAgent({ persistent: true }) }))).toBe(false);
  expect(isEphemeral(makeWorker({ type: 'persistent', agent: makeAgent({ persistent: false }) }))).toBe(true);
});
