// See docs/internals/faults.md, S2.
import { expect, test } from 'vitest';
import { isForeign, isOwnPage, provenanceOf } from '../../../../../main/http/auth/sender.ts';

interface SentHeaders {
  readonly host?: string;
  readonly origin?: string;
  readonly site?: string;
}

const requestWith = ({ host = 'rig.example:8001', origin, site }: SentHeaders) => {
  return { headers: { host, ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) } };
};

const ownOrigin = 'http://rig.example:8001';

type Case = readonly [
  description: string,
  sent: SentHeaders,
  foreign: boolean,
  fromOwnPageAsGet: boolean,
  fromOwnPageAsPost: boolean,
];

test.each<Case>([
  ['no headers, as scripts and old browsers send them', {}, false, true, false],
  ['the origin of this address', { origin: ownOrigin }, false, true, true],
  ['Sec-Fetch-Site same-origin', { site: 'same-origin' }, false, true, true],
  ['Sec-Fetch-Site none, as for a typed address', { site: 'none' }, false, true, true],
  [
    'the origin of this address and Sec-Fetch-Site same-origin',
    { origin: ownOrigin, site: 'same-origin' },
    false,
    true,
    true,
  ],
  ['a host name in capitals', { host: 'RIG.example:8001', origin: ownOrigin }, false, true, true],
  ['the default port', { host: 'rig.example', origin: 'http://rig.example:80' }, false, true, true],
  ['another site', { origin: 'https://evil.example' }, true, false, false],
  ['another port', { origin: 'http://rig.example:8002' }, true, false, false],
  ['a host name with the same ending', { origin: 'http://evil-rig.example:8001' }, true, false, false],
  ['an opaque origin', { origin: 'null' }, true, false, false],
  ['an invalid origin', { origin: '%%' }, true, false, false],
  ['Sec-Fetch-Site cross-site', { site: 'cross-site' }, true, false, false],
  ['Sec-Fetch-Site same-site, which can mean another port', { site: 'same-site' }, true, false, false],
  [
    'the origin of this address but Sec-Fetch-Site cross-site',
    { origin: ownOrigin, site: 'cross-site' },
    true,
    false,
    false,
  ],
  [
    'another origin but Sec-Fetch-Site same-origin',
    { origin: 'https://evil.example', site: 'same-origin' },
    true,
    false,
    false,
  ],
])(
  'judges whether a request with %s comes from another site or from the panel',
  (_case, sent, foreign, fromOwnPageAsGet, fromOwnPageAsPost) => {
    const request = requestWith(sent);
    expect(isForeign(provenanceOf(request))).toBe(foreign);
    expect(isOwnPage({ ...request, method: 'GET' })).toBe(fromOwnPageAsGet);
    expect(isOwnPage({ ...request, method: 'POST' })).toBe(fromOwnPageAsPost);
  },
);

test('treats a repeated Sec-Fetch-Site header as foreign', () => {
  const headers = { host: 'x', 'sec-fetch-site': 'same-origin, same-origin' };
  expect(isForeign(provenanceOf({ headers }))).toBe(true);
});
