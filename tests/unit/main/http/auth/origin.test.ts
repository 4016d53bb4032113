/** The origin that a browser declares for calls with and without a session: docs/internals/faults.md, S2. */
import { expect, test } from 'vitest';
import { isForeign, isOwnPage, provenanceOf } from '../../../../../main/http/auth/origin.ts';

interface Said {
  readonly host?: string;
  readonly origin?: string;
  readonly site?: string;
}

const headsOf = ({ host = 'rig.example:8001', origin, site }: Said) => {
  return { headers: { host, ...(origin && { origin }), ...(site && { 'sec-fetch-site': site }) } };
};

const own = 'http://rig.example:8001';

test.each<readonly [what: string, said: Said, foreign: boolean, ownGet: boolean, ownPost: boolean]>([
  ['nothing, as scripts and old browsers do', {}, false, true, false],
  ['a page of this address', { origin: own }, false, true, true],
  ['a page of this address, by its site', { site: 'same-origin' }, false, true, true],
  ['somebody who has typed the address', { site: 'none' }, false, true, true],
  ['both', { origin: own, site: 'same-origin' }, false, true, true],
  ['a name in capitals', { host: 'RIG.example:8001', origin: own }, false, true, true],
  [
    'the port that goes without saying',
    { host: 'rig.example', origin: 'http://rig.example:80' },
    false,
    true,
    true,
  ],
  ['another site', { origin: 'https://evil.example' }, true, false, false],
  ['another port', { origin: 'http://rig.example:8002' }, true, false, false],
  ['a name that ends like ours', { origin: 'http://evil-rig.example:8001' }, true, false, false],
  ['a sandboxed page', { origin: 'null' }, true, false, false],
  ['no address at all', { origin: '%%' }, true, false, false],
  ['another site, by its site', { site: 'cross-site' }, true, false, false],
  ['another port of this machine, by its site', { site: 'same-site' }, true, false, false],
  ['our address, and another site', { origin: own, site: 'cross-site' }, true, false, false],
  [
    'another address, and our site',
    { origin: 'https://evil.example', site: 'same-origin' },
    true,
    false,
    false,
  ],
])('%s', (_what, said, foreign, ownGet, ownPost) => {
  const heads = headsOf(said);
  expect(isForeign(provenanceOf(heads))).toBe(foreign);
  expect(isOwnPage({ ...heads, method: 'GET' })).toBe(ownGet);
  expect(isOwnPage({ ...heads, method: 'POST' })).toBe(ownPost);
});

test('a site that is named twice is none of ours', () => {
  const headers = { host: 'x', 'sec-fetch-site': 'same-origin, same-origin' };
  expect(isForeign(provenanceOf({ headers }))).toBe(true);
});
