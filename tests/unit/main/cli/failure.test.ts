import { describe, expect, test } from 'vitest';
import { failureOf } from '../../../../main/cli/failure.ts';
import { type ProblemCode, problems } from '../../../../protocol/problem.ts';

const url = 'http://host:8001';

function failureOfProblem(code: ProblemCode, requestId?: string) {
  const { status, title } = problems[code];
  const withoutId = { type: 'about:blank', title, status, detail: `about ${code}`, code };
  const withId = requestId === undefined ? withoutId : { ...withoutId, request_id: requestId };
  return failureOf({ kind: 'problem', status, problem: withId }, url);
}

// Returns the failure for an error of `fetch`. Such an error has the actual error as its cause.
const failureOfFetch = (code: string) =>
  failureOf(
    {
      kind: 'unreachable',
      cause: new TypeError('fetch failed', { cause: Object.assign(new Error('the details'), { code }) }),
    },
    url,
  );

describe('failures by problem code', () => {
  test.each<[number, ProblemCode]>([
    [3, 'token_missing'],
    [3, 'token_invalid'],
    [3, 'wrong_token_kind'],
    [4, 'worker_not_found'],
    [4, 'job_not_found'],
    [4, 'config_not_found'],
    [5, 'worker_not_offline'],
    [5, 'job_final'],
    [7, 'invalid_request'],
    [7, 'body_too_large'],
    [7, 'config_invalid'],
    [1, 'internal'],
    [1, 'storage'],
    [6, 'stopping'],
  ])('returns exit code %i for the problem %s', (exitCode, code) => {
    expect(failureOfProblem(code)).toEqual({ code: exitCode, message: `about ${code}` });
  });

  test('adds the request id to internal errors', () => {
    expect(failureOfProblem('internal', 'r1').message).toBe('about internal (request r1)');
    expect(failureOfProblem('job_final', 'r1').message).toBe('about job_final');
  });

  test('explains that an older orchestrator does not support the command', () => {
    expect(failureOfProblem('route_not_found')).toEqual({
      code: 1,
      message: `${url} does not support this command: its version is older`,
    });
  });
});

describe('an unreachable orchestrator', () => {
  test.each([
    ['ECONNREFUSED', /Connection refused\. Check the address and port/],
    ['ENOTFOUND', /unknown host name\. Check the address/],
    ['UND_ERR_SOCKET', /connection was reset.*https/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not use TLS.*http/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /--pin .*--ca-file/],
    ['CERT_HAS_EXPIRED', /expired. Check the clock of this machine/],
    ['CERT_NOT_YET_VALID', /not valid yet. Check the clocks/],
    ['ERR_PIN_MISMATCH', /does not match --pin \(the details\)\. Nothing was sent/],
    ['ERR_REDIRECTED', /redirects to the details\. The token was not sent there/],
    ['EWHATEVER', /the details/],
  ])('returns exit code 6 with the reason and a remedy for %s', (code, message) => {
    expect(failureOfFetch(code).code).toBe(6);
    expect(failureOfFetch(code).message).toMatch(/^http:\/\/host:8001 cannot be reached: /);
    expect(failureOfFetch(code).message).toMatch(message);
  });

  test('explains that a request timed out', () => {
    const cause = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    expect(failureOf({ kind: 'unreachable', cause }, url).message).toContain('the request timed out');
  });

  test('explains a failed request whose cause is not an Error', () => {
    expect(failureOf({ kind: 'unreachable', cause: 'a text' }, url).message).toContain('a text');
  });
});

test('returns exit code 1 for an unexpected response', () => {
  const failure = failureOf({ kind: 'unexpected', status: 200, detail: 'answered with a page' }, url);
  expect(failure).toEqual({
    code: 1,
    message: `answered with a page\nCheck that ${url} is an orchestrator, and that its version fits this one`,
  });
});
