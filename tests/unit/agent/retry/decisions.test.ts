import { describe, expect, it } from 'vitest';
import {
  decide,
  type decisionTable,
  type Failure,
  policyOf,
  waits,
} from '../../../../agent/retry/decisions.ts';
import { problemOf, unreachable } from '../builders.ts';

const calls = ['register', 'join', 'report', 'metrics', 'log', 'upload', 'list', 'download'] as const;

const proxy = (status: number): Failure => ({ kind: 'unexpected', status, detail: '<html>' });
const problem = (status: number, code: string): Failure => {
  const failure = problemOf(status);
  return failure.kind === 'problem' ? { ...failure, problem: { ...failure.problem, code } } : failure;
};

/** For each row of the table: an example of its failures, and the decisions in the order of `calls`. */
const rows: Readonly<Record<keyof typeof decisionTable, readonly [Failure, string]>> = {
  disk: [{ kind: 'disk', cause: 'ENOSPC' }, 'stop stop stop stop stop stop stop stop'],
  unreachable: [unreachable(), 'retry retry retry retry retry retry retry retry'],
  'proxy 401': [proxy(401), 'token retry retry retry retry over over stop'],
  'proxy 405': [proxy(405), 'retry retry stop stop older retry retry retry'],
  'proxy 409': [proxy(409), 'retry retry stop stop retry retry retry stop'],
  'proxy 413': [proxy(413), 'retry retry stop stop smaller no_room retry stop'],
  'proxy 507': [proxy(507), 'retry retry retry retry retry no_room retry stop'],
  'proxy busy': [proxy(502), 'retry retry retry retry retry retry retry retry'],
  'proxy other': [proxy(200), 'retry retry stop stop retry retry retry retry'],
  '400': [problem(400, 'invalid_request'), 'stop stop stop skip stop stop stop stop'],
  '400 checksum_mismatch': [problem(400, 'checksum_mismatch'), 'stop stop stop skip stop changed stop stop'],
  '401': [problem(401, 'token_invalid'), 'token rejected retry retry retry over over stop'],
  '401 upload_token_rotated': [
    problem(401, 'upload_token_rotated'),
    'token rejected retry retry retry retry retry retry',
  ],
  '401 uploads_closed': [
    problem(401, 'uploads_closed'),
    'token rejected retry retry retry closed closed stop',
  ],
  '403': [problem(403, 'not_your_worker'), 'stop stop stop stop stop stop stop stop'],
  '404 route_not_found': [problem(404, 'route_not_found'), 'retry stop stop stop older stop stop stop'],
  '405': [problem(405, 'method_not_allowed'), 'retry stop stop stop older stop stop stop'],
  '409': [problem(409, 'attempt_superseded'), 'seldom stop stop stop stop retry retry stop'],
  '409 duplicate_registration': [
    problem(409, 'duplicate_registration'),
    'seldom stop stop stop retry retry retry stop',
  ],
  '409 not_registered': [problem(409, 'not_registered'), 'seldom stop stop stop retry retry retry stop'],
  '409 restore_under_way': [
    problem(409, 'restore_under_way'),
    'seldom stop stop stop retry retry retry stop',
  ],
  '413': [problem(413, 'quota_exceeded'), 'retry stop stop stop smaller no_room retry stop'],
  '507': [problem(507, 'storage'), 'retry retry soon retry retry no_room retry stop'],
  busy: [problem(503, 'restoring'), 'retry retry retry retry retry retry retry retry'],
  other: [problem(404, 'job_not_found'), 'retry stop stop stop stop stop stop stop'],
};

const decisionsOn = (failure: Failure): string => calls.map(call => decide(call, failure)).join(' ');

describe('decision table for failed calls', () => {
  it.each(Object.entries(rows))('decides for each call on the failure %s', (_key, [failure, decisions]) => {
    expect(decisionsOn(failure)).toBe(decisions);
  });

  it.each([408, 429, 500, 502, 503, 504, 599])('counts status %d as busy', status => {
    expect(decisionsOn(problem(status, 'internal'))).toBe(rows.busy[1]);
    expect(decisionsOn(proxy(status))).toBe(rows['proxy busy'][1]);
  });

  it.each([302, 404, 410, 415, 421, 422])('counts status %d as other', status => {
    expect(decisionsOn(problem(status, 'of_a_newer_server'))).toBe(rows.other[1]);
    expect(decisionsOn(proxy(status))).toBe(rows['proxy other'][1]);
  });

  it('ignores a problem code that does not belong to the status', () => {
    expect(decisionsOn(problem(403, 'uploads_closed'))).toBe(rows['403'][1]);
  });

  it.each(['register', 'join', 'report', 'log', 'upload', 'list', 'download'] as const)(
    'defines a pause for each decision that repeats a %s call',
    call => {
      const { decide: decideOn } = policyOf(call);
      const decisions = new Set<string>(Object.values(rows).map(([failure]) => decideOn(failure)));
      const repeatingDecisions: readonly string[] = ['retry', 'seldom', 'soon'];
      expect(Object.keys(waits[call]).toSorted()).toEqual(
        repeatingDecisions.filter(decision => decisions.has(decision)).toSorted(),
      );
    },
  );
});
