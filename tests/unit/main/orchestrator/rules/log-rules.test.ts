import { expect, test } from 'vitest';
import { cleanOutput, isLogOver } from '../../../../../main/orchestrator/rules/output-rules.ts';
import type { Attempt, Job } from '../../../../../main/orchestrator/model.ts';

const now = 1_000_000_000;
const minutesAgo = (minutes: number): number => now - minutes * 60_000;
const running = { status: 'running' } as unknown as Job;
const endedJob = (endedAt: number): Job => ({ status: 'failed', endedAt }) as unknown as Job;
const attempt = (endedAt: number | null): Attempt =>
  ({ end: endedAt === null ? null : { at: endedAt } }) as unknown as Attempt;
const facts = (lastAt: number, isEnded = false) => ({ lastAt, isEnded });

test.each<
  readonly [verdict: 'complete' | 'incomplete', condition: string, args: Parameters<typeof isLogOver>]
>([
  ['complete', 'the last chunk has arrived', [running, attempt(null), facts(now, true), now]],
  ['incomplete', 'the attempt is silent but running', [running, attempt(null), facts(minutesAgo(600)), now]],
  ['incomplete', 'the attempt is running without any log', [running, attempt(null), null, now]],
  [
    'incomplete',
    'the attempt has just ended',
    [endedJob(minutesAgo(1)), attempt(minutesAgo(1)), facts(minutesAgo(9)), now],
  ],
  [
    'complete',
    'the attempt ended long ago',
    [endedJob(minutesAgo(3)), attempt(minutesAgo(3)), facts(minutesAgo(9)), now],
  ],
  [
    'incomplete',
    'the attempt ended long ago but still sends its log',
    [running, attempt(minutesAgo(9)), facts(minutesAgo(1)), now],
  ],
  ['complete', 'the attempt was given up long ago', [running, attempt(minutesAgo(3)), null, now]],
  [
    'complete',
    'the job ended without an end of the attempt',
    [endedJob(minutesAgo(3)), attempt(null), null, now],
  ],
  ['complete', 'the attempt is unknown', [running, null, null, now]],
])('treats the log of an attempt as %s when %s', (verdict, _condition, args) => {
  expect(isLogOver(...args)).toBe(verdict === 'complete');
});

test('keeps only text, tabs, line ends and escapes of the output', () => {
  const output = 'a\tb\r\n\u001b[1mc\u0000\u0008\u000b\u000c\u007f\u0085\u009b\ud800d\udc00 🚂 \u202e';
  expect(cleanOutput(output)).toBe(
    'a\tb\r\n\u001b[1mc\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffdd\ufffd 🚂 \u202e',
  );
});
