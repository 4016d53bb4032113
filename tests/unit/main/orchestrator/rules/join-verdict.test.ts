import { expect, test } from 'vitest';
import { judgeJoin } from '../../../../../main/orchestrator/rules/join-verdict.ts';
import type { JoinToken } from '../../../../../main/orchestrator/ports/index.ts';
import { WorkerId } from '../../../../../protocol/ids.ts';

const open: JoinToken = { workerId: WorkerId.parse('w_1'), expiresAt: 1_000, usedFor: null };
const used: JoinToken = { ...open, usedFor: 'mine' };

test.each<[string, JoinToken, string, number, string]>([
  ['one in its time', open, 'mine', 999, 'join'],
  ['one whose time is over', open, 'mine', 1_000, 'expired'],
  ['one that was used for this token', used, 'mine', 999, 'repeated'],
  ['the same, long after its time', used, 'mine', 1e9, 'repeated'],
  ['one that was used for another token', used, 'theirs', 999, 'used'],
  ['the same, long after its time', used, 'theirs', 1e9, 'used'],
])('%s', (_what, known, tokenHash, now, verdict) => {
  expect(judgeJoin(known, tokenHash, now)).toBe(verdict);
});
