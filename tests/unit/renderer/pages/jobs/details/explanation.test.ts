/** Tests the texts of the reasons why a worker cannot run a job. */
import { expect, test } from 'vitest';
import type { WorkerReason } from '../../../../../../protocol/explain.ts';
import { loadTexts } from '../../../../../support/texts.ts';
import { checkTexts } from '../../../../../../renderer/pages/jobs/details/explanation.tsx';

const en = await loadTexts('en', 'utc');
const ja = await loadTexts('ja', 'utc');
const reason = (
  code: WorkerReason['code'],
  wanted: string | null = null,
  actual: string | null = null,
): WorkerReason => ({ code, wanted, there: actual, detail: 'in the words of the server' });

test.each<[WorkerReason, string]>([
  [reason('offline', null, 'silent'), 'offline: no heartbeat'],
  [reason('offline', null, 'goodbye'), 'offline: shut down'],
  [reason('draining'), 'draining: accepts no new jobs'],
  [reason('draining', null, 'a new fan'), 'draining: a new fan'],
  [reason('busy', null, 'j_1'), 'busy with job j_1'],
  [reason('target', 'this machine', 'another machine'), 'the job must run on the server’s own machine'],
  [reason('target', 'another machine'), 'the job must not run on the server’s machine'],
  [reason('gpu_count', '4', '2'), 'needs 4 GPUs, has 2'],
  [reason('label', 'site=hall-*', 'none'), 'needs label site=hall-*, has none'],
])('translates the reason %j', (workerReason, text) => {
  expect(checkTexts([workerReason], en)).toEqual([text]);
});

test('translates a reason into the chosen language', () => {
  expect(checkTexts([reason('quarantined', null, 'disk')], ja)).toEqual(['隔離中：disk']);
});

test('does not also describe an offline worker as connecting', () => {
  const reasons = [reason('offline', null, 'goodbye'), reason('no_stream')];
  expect(checkTexts(reasons, en)).toEqual(['offline: shut down']);
});
