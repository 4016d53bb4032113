import { expect, test } from 'vitest';
import { judgeJoin } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import type { JoinToken } from '../../../../../main/orchestrator/ports/index.ts';
import { WorkerId } from '../../../../../protocol/ids.ts';

const unused: JoinToken = { workerId: WorkerId.parse('w_1'), expiresAt: 1_000, usedFor: null };
const used: JoinToken = { ...unused, usedFor: 'first token' };

test.each<[string, JoinToken, string, number, string]>([
  ['an unused join token before its expiry', unused, 'first token', 999, 'join'],
  ['an unused join token at its expiry', unused, 'first token', 1_000, 'expired'],
  ['a join token used for the same token', used, 'first token', 999, 'repeated'],
  ['a join token used for the same token long ago', used, 'first token', 1e9, 'repeated'],
  ['a join token used for another token', used, 'second token', 999, 'used'],
  ['a join token used for another token long ago', used, 'second token', 1e9, 'used'],
])('returns the verdict for %s', (_case, joinToken, tokenHash, now, verdict) => {
  expect(judgeJoin(joinToken, tokenHash, now)).toBe(verdict);
});
