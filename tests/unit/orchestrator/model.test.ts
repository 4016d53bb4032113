import { expect, test } from 'vitest';
import { asWorker, nameOf, system } from '../../../main/orchestrator/model.ts';
import { workerId } from './builders.ts';

test('whoever does something has a name: a token, a worker, or the orchestrator itself', () => {
  expect(nameOf({ type: 'admin', id: 'ada', address: null })).toBe('ada');
  expect(nameOf(asWorker(workerId('w_1')))).toBe('w_1');
  expect(nameOf(system)).toBe('system');
});
