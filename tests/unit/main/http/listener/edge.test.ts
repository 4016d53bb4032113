/** Requests that are rejected before authentication: docs/internals/faults.md, S1 and S2. */
import { describe, expect, test } from 'vitest';
import { type EdgeCall, judgeEdge } from '../../../../../main/http/listener/edge.ts';

const isOurs = (name: string): boolean => ['localhost', '10.0.0.7', '::1', 'rig.example'].includes(name);
const judge = (call: Partial<EdgeCall>): string | null =>
  judgeEdge(
    { method: 'POST', hosts: ['10.0.0.7:8001'], origin: null, site: null, hasToken: false, ...call },
    isOurs,
  )?.code ?? null;

describe('the name in the Host header', () => {
  test.each([
    '10.0.0.7:8001',
    '10.0.0.7',
    'localhost:8001',
    '[::1]:8001',
    '[::1]',
    'rig.example',
    'RIG.Example:443',
    'rig.example.:1',
  ])('%s is ours', host => expect(judge({ hosts: [host], method: 'GET' })).toBeNull());

  test.each([
    'evil.example',
    '10.0.0.8',
    '10.0.0.7.evil.example',
    'rig.example.evil',
    'localhost.evil.example:8001',
    '[::2]:8001',
  ])('%s is not', host => {
    for (const method of ['GET', 'POST', 'OPTIONS'])
      expect(judge({ hosts: [host], method, hasToken: true })).toBe('wrong_host');
  });

  test.each<readonly [string, readonly string[]]>([
    ['none', []],
    ['two', ['10.0.0.7', '10.0.0.7']],
    ['an empty one', ['']],
    ['one with a user', ['10.0.0.7@evil.example']],
    ['one with a path', ['10.0.0.7/evil']],
    ['one with a port that is none', ['10.0.0.7:99999']],
    ['one with a space', ['10.0.0.7 evil']],
    ['one in brackets that are not closed', ['[::1']],
    ['one of letters that look like ours', ['lоcalhost']],
  ])('%s is refused', (_what, hosts) => expect(judge({ hosts, hasToken: true })).toBe('invalid_request'));
});

describe('a call that changes something, without a token in a header', () => {
  test.each<readonly [string, Partial<EdgeCall>]>([
    ['from the panel itself', { origin: 'http://10.0.0.7:8001', site: 'same-origin' }],
    ['from an old browser that says its origin alone', { origin: 'http://10.0.0.7:8001' }],
    ['typed by a person', { site: 'none' }],
    ['from what is no browser', {}],
  ])('%s goes on', (_what, call) => expect(judge(call)).toBeNull());

  test.each<readonly [string, Partial<EdgeCall>]>([
    ['another site', { origin: 'https://evil.example', site: 'cross-site' }],
    ['another site, as an old browser says it', { origin: 'https://evil.example' }],
    ['another port of this machine', { origin: 'http://10.0.0.7:3000', site: 'same-site' }],
    ['nowhere', { origin: 'null' }],
    ['what is no origin', { origin: '10.0.0.7:8001' }],
    ['another site, which hides its origin', { site: 'cross-site' }],
    ['a neighbour of this site', { site: 'same-site' }],
    ['what no browser says', { site: 'trust-me' }],
  ])('from %s is refused', (_what, call) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'post'])
      expect(judge({ ...call, method })).toBe('cross_site');
    expect(judge({ ...call, hasToken: true })).toBeNull();
    for (const method of ['GET', 'HEAD', 'OPTIONS']) expect(judge({ ...call, method })).toBeNull();
  });
});
