import { describe, expect, it } from 'vitest';
import { explainFailure } from '../../../../agent/connection/connection-warnings.ts';
import { problemOf, unreachable } from '../builders.ts';

const url = 'http://rig:8001';
/** The expected explanation and remedy for each kind of failure. */
const remedies: Readonly<Record<string, RegExp>> = {
  refused:
    /^Connection refused: nothing listens on http:\/\/rig:8001\. Check the address and port\..*--host 0\.0\.0\.0.*firewall/,
  token: /^Invalid token: .*rotated.*Create a new token.*white space/,
  certificate:
    /^SSL certificate verify failed .*http:\/\/rig:8001\. Use --pin .*--ca-file.*trust store.*--ssl-no-verify only for tests/,
  pin: /^SSL certificate verify failed \(ERR_PIN_MISMATCH\).*http:\/\/rig:8001 is not .*Nothing was sent.*Compare/,
  expired:
    /^SSL certificate verify failed \(CERT_HAS_EXPIRED\).*http:\/\/rig:8001 has expired\. Check this machine's clock/,
  early: /^SSL certificate verify failed \(CERT_NOT_YET_VALID\).*not valid yet\. Check this machine's clock/,
  name: /^SSL certificate verify failed \(ERR_TLS_CERT_ALTNAME_INVALID\).*for other names.*--orchestrator-url.*--pin/,
  redirect: /^http:\/\/rig:8001 redirects to .*The token was not sent there.*--orchestrator-url/,
  host: /^Host not found: the name in http:\/\/rig:8001.*Check the spelling, or use the IP address/,
  timeout: /^No answer from http:\/\/rig:8001 in time\. Check the address.*firewall/,
  tls: /^TLS failed for http:\/\/rig:8001 .*Try http:\/\/ instead/,
  lost: /^Connection lost: http:\/\/rig:8001 closed it without an answer\. Check the port and any proxy.*https:\/\//,
  other: /^http:\/\/rig:8001 could not be reached: .*Check the address, the port and the network/,
};

describe('unreachable servers', () => {
  it.each([
    ['ECONNREFUSED', 'refused'],
    ['ENOTFOUND', 'host'],
    ['EAI_AGAIN', 'host'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'certificate'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate'],
    ['UNABLE_TO_GET_ISSUER_CERT', 'certificate'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'certificate'],
    ['CERT_HAS_EXPIRED', 'expired'],
    ['CERT_NOT_YET_VALID', 'early'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'name'],
    ['ERR_PIN_MISMATCH', 'pin'],
    ['ERR_REDIRECTED', 'redirect'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls'],
    ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'tls'],
    ['ETIMEDOUT', 'timeout'],
    ['UND_ERR_CONNECT_TIMEOUT', 'timeout'],
    ['UND_ERR_SOCKET', 'lost'],
    ['ECONNRESET', 'lost'],
    ['EPIPE', 'lost'],
    ['EHOSTUNREACH', 'other'],
    ['ENETUNREACH', 'other'],
    ['EMFILE', 'other'],
  ])('explains the error code %s: %s', (code, kind) => {
    expect(explainFailure(unreachable(code), url)).toMatch(remedies[kind]!);
  });

  it('explains an unknown certificate error by its message', () => {
    const cause = new TypeError('fetch failed', { cause: new Error('certificate is revoked') });
    expect(explainFailure({ kind: 'unreachable', cause }, url)).toMatch(remedies['certificate']!);
  });

  it.each([
    ['a timeout', AbortSignal.abort(new DOMException('', 'TimeoutError')).reason, 'timeout'],
    [
      'several failed addresses',
      new AggregateError([errorWithCode('ECONNREFUSED'), errorWithCode('EHOSTUNREACH')], 'all failed'),
      'refused',
    ],
    ['a nested error', wrap(errorWithCode('ECONNREFUSED'), 5), 'refused'],
    ['a very deeply nested error', wrap(errorWithCode('ECONNREFUSED'), 50), 'other'],
    ['a value that is not an error', 'gone', 'other'],
    ['an undefined value', undefined, 'other'],
  ])('explains %s as the cause of a failed call', (_title, cause: unknown, kind) => {
    expect(explainFailure({ kind: 'unreachable', cause }, url)).toMatch(remedies[kind]!);
  });

  it('shortens a certificate error to one line without control characters', () => {
    const cause = Object.assign(new Error(`a\u001b[31m\nb${'x'.repeat(5_000)}`), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
    const message = explainFailure({ kind: 'unreachable', cause }, url);
    expect(message).toContain('(a?[31m?bx');
    expect(message.length).toBeLessThan(800);
  });

  it('suggests http when an https server hangs up', () => {
    expect(explainFailure(unreachable('ECONNRESET'), 'https://rig')).toContain('may use http:// there');
  });
});

describe('responses of a server', () => {
  it.each<[string, Parameters<typeof explainFailure>[0], RegExp]>([
    ['401 from an orchestrator', problemOf(401), remedies['token']!],
    ['401 from a proxy', { kind: 'unexpected', status: 401, detail: 'x' }, remedies['token']!],
    ['409', problemOf(409), /^http:\/\/rig:8001 refused the call: refused with 409$/],
    ['503', problemOf(503), /refused the call: refused with 503/],
    [
      'an HTML page',
      { kind: 'unexpected', status: 200, detail: '<html>' },
      /^http:\/\/rig:8001 does not answer like an orchestrator\. Check the address, the port and any proxy: <html>$/,
    ],
  ])('explains the response %s', (_title, failure, message) => {
    expect(explainFailure(failure, url)).toMatch(message);
  });
});

function errorWithCode(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code });
}

/** Wraps the error this number of times. */
function wrap(error: Error, times: number): Error {
  return Array.from({ length: times }).reduce<Error>(cause => new Error('outer', { cause }), error);
}
