/** This test needs the real clock, which counts fractions of a millisecond, unlike the virtual clock of unit tests. */
import { expect, onTestFinished, test } from 'vitest';
import { queueApi } from '../../protocol/queue-api.ts';
import { startTestServer, valueOf } from '../support/server.ts';

test('changes the priority and the approval of a job under the real clock', async () => {
  const server = await startTestServer();
  onTestFinished(() => server.close());
  const submitted = { config: {}, requires_approval: true };
  const params = { id: await server.submit(submitted) };
  const body = { priority: 'high' } as const;
  const afterPriorityChange = valueOf(await server.admin.call(queueApi.setPriority, { params, body }));
  expect(afterPriorityChange).toMatchObject({ priority: 20, approval: 'wanted' });
  const approved = valueOf(await server.admin.call(queueApi.approve, { params }));
  expect(approved).toMatchObject({ priority: 20, approval: 'given', position: 1 });
});
