// See docs/internals/faults.md, S1 and S2.
import { describe, expect, test } from 'vitest';
import { type EdgeCall, judgeEdge } from '../../../../../main/http/listener/edge.ts';

const isOwnName = (name: string): boolean => ['localhost', '10.0.0.7', '::1', 'rig.example'].includes(name);
const judge = (call: Partial<EdgeCall>): string | null =>
  judgeEdge(
    { method: 'POST', hosts: ['10.0.0.7:8001'], origin: null, site: null, hasToken: false, ...call },
    isOwnName,
  )?.code ?? null;

describe('checking the Host header', () => {
  test.each([
    '10.0.0.7:8001',
    '10.0.0.7',
    'localhost:8001',
    '[::1]:8001',
    '[::1]',
    'rig.example',
    'RIG.Example:443',
    'rig.example.:1',
  ])('accepts the host %s', host => expect(judge({ hosts: [host], method: 'GET' })).toBeNull());

  test.each([
    'evil.example',
    '10.0.0.8',
    '10.0.0.7.evil.example',
    'rig.example.evil',
    'localhost.evil.example:8001',
    '[::2]:8001',
  ])('refuses the host %s', host => {
    for (const method of ['GET', 'POST', 'OPTIONS'])
      expect(judge({ hosts: [host], method, hasToken: true })).toBe('wrong_host');
  });

  test.each<readonly [string, readonly string[]]>([
    ['no host', []],
    ['two hosts', ['10.0.0.7', '10.0.0.7']],
    ['an empty host', ['']],
    ['a host with a user', ['10.0.0.7@evil.example']],
    ['a host with a path', ['10.0.0.7/evil']],
    ['a host with an invalid port', ['10.0.0.7:99999']],
    ['a host with a space', ['10.0.0.7 evil']],
    ['a host with an unclosed bracket', ['[::1']],
    ['a host with look-alike letters', ['lоcalhost']],
  ])('refuses a request with %s', (_case, hosts) =>
    expect(judge({ hosts, hasToken: true })).toBe('invalid_request'),
  );
});

describe('checking the origin of a change without a token header', () => {
  test.each<readonly [string, Partial<EdgeCall>]>([
    ['from the panel itself', { origin: 'http://10.0.0.7:8001', site: 'same-origin' }],
    ['from an old browser that sends only an origin', { origin: 'http://10.0.0.7:8001' }],
    ['typed into the address bar', { site: 'none' }],
    ['from a program other than a browser', {}],
  ])('accepts a change without a token header %s', (_case, call) => expect(judge(call)).toBeNull());

  test.each<readonly [string, Partial<EdgeCall>]>([
    ['another site', { origin: 'https://evil.example', site: 'cross-site' }],
    ['another site by its origin alone', { origin: 'https://evil.example' }],
    ['another port of this machine', { origin: 'http://10.0.0.7:3000', site: 'same-site' }],
    ['an opaque origin', { origin: 'null' }],
    ['an invalid origin', { origin: '10.0.0.7:8001' }],
    ['another site with a hidden origin', { site: 'cross-site' }],
    ['a sibling site', { site: 'same-site' }],
    ['an unknown site value', { site: 'trust-me' }],
  ])('refuses a change without a token header from %s', (_case, call) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'post'])
      expect(judge({ ...call, method })).toBe('cross_site');
    expect(judge({ ...call, hasToken: true })).toBeNull();
    for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(judge({ ...call, method })).toBeNull();
  });
});
