import { expect, test } from 'vitest';
import { judgeJoin } from '../../../../../main/orchestrator/rules/worker-rules.ts';
import type { JoinToken } from '../../../../../main/orchestrator/ports/index.ts';
import { WorkerId } from '../../../../../protocol/ids.ts';

const unused: JoinToken = { workerId: WorkerId.parse('w_1'), expiresAt: 1_000, usedFor: null };
const used: JoinToken = { ...unused, usedFor: 'first token' };

test.each<[verdict: string, description: string, joinToken: JoinToken, tokenHash: string, now: number]>([
  ['join', 'an unused join token before its expiry', unused, 'first token', 999],
  ['expired', 'an unused join token at its expiry', unused, 'first token', 1_000],
  ['repeated', 'a join token used for the same token', used, 'first token', 999],
  ['repeated', 'a join token used for the same token long ago', used, 'first token', 1e9],
  ['used', 'a join token used for another token', used, 'second token', 999],
  ['used', 'a join token used for another token long ago', used, 'second token', 1e9],
])('returns %s for %s', (verdict, _description, joinToken, tokenHash, now) => {
  expect(judgeJoin(joinToken, tokenHash, now)).toBe(verdict);
});
