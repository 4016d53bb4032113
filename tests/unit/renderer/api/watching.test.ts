/** Tests that the client of the panel reports successful writes, and refusals that a changed session can explain. */
import { expect, test, vi } from 'vitest';
import { workersApi } from '../../../../protocol/admin-api.ts';
import type { CallFailure, Client } from '../../../../protocol/client.ts';
import { queueApi } from '../../../../protocol/queue-api.ts';
import { watchingClient } from '../../../../renderer/api/session.ts';

const problem = (status: number, code: string): CallFailure => ({
  kind: 'problem',
  status,
  problem: { type: 'about:blank', title: 'no', status, code, detail: 'no' },
});

function createFixture(failure: CallFailure | null) {
  const answer = failure === null ? { ok: true, value: {} } : { ok: false, failure };
  const client = { call: () => Promise.resolve(answer) } as unknown as Client;
  const onRefused = vi.fn<(failure: CallFailure) => void>();
  const onDone = vi.fn<() => void>();
  const watching = watchingClient(client, { onRefused, onDone });
  return { watching, onRefused, onDone };
}

test.each([
  [problem(401, 'token_missing'), 1],
  [problem(403, 'permission_missing'), 1],
  [problem(403, 'cross_site'), 0],
  [problem(409, 'job_final'), 0],
  [{ kind: 'unreachable', cause: null } as const, 0],
])('calls onRefused for the failure %j this many times: %d', async (failure, times) => {
  const { watching, onRefused, onDone } = createFixture(failure);
  await watching.call(queueApi.pause);
  expect(onRefused).toHaveBeenCalledTimes(times);
  expect(onDone).not.toHaveBeenCalled();
});

test('calls onDone after a successful write, but not after a read', async () => {
  const { watching, onRefused, onDone } = createFixture(null);
  await watching.call(workersApi.list);
  expect(onDone).not.toHaveBeenCalled();
  await watching.call(queueApi.pause);
  expect(onDone).toHaveBeenCalledOnce();
  expect(onRefused).not.toHaveBeenCalled();
});
