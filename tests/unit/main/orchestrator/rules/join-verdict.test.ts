import { expect, test } from 'vitest';
import { judgeJoin } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import type { JoinToken } from '../../../../../main/orchestrator/ports/index.ts';
import { WorkerId } from '../../../../../protocol/ids.ts';

const open: JoinToken = { workerId: WorkerId.parse('w_1'), expiresAt: 1_000, usedFor: null };
const used: JoinToken = { ...open, usedFor: 'mine' };

test.each<[string, JoinToken, string, number, string]>([
  ['an unused join token before its expiry', open, 'mine', 999, 'join'],
  ['an unused join token at its expiry', open, 'mine', 1_000, 'expired'],
  ['a join token used for the same token', used, 'mine', 999, 'repeated'],
  ['a join token used for the same token long ago', used, 'mine', 1e9, 'repeated'],
  ['a join token used for another token', used, 'theirs', 999, 'used'],
  ['a join token used for another token long ago', used, 'theirs', 1e9, 'used'],
])('judges %s', (_case, known, tokenHash, now, verdict) => {
  expect(judgeJoin(known, tokenHash, now)).toBe(verdict);
});
