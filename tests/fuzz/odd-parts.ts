import type { Random } from './random.ts';

type Header = readonly [name: string, value: string];

/** Odd values of headers that a call or the middleware reads. */
const headerValues: Readonly<Record<string, readonly string[]>> = {
  'idempotency-key': ['k1', 'k1', 'x'.repeat(201), 'a b', '"'],
  'if-match': ['*', '"x"', 'W/"x"', '"', ''],
  'if-none-match': ['*', '"x"'],
  'last-event-id': ['0', '1', '-1', '1e99', 'abc', '9'.repeat(15), '9'.repeat(400)],
  origin: ['https://evil.example', 'null', 'http://', '%%'],
  'sec-fetch-site': ['cross-site', 'same-origin', 'none', 'x'],
  cookie: ['trainyard_session=ts_wrong', 'trainyard_session=', '=;;=', `a=${'x'.repeat(4_000)}`],
  'x-forwarded-for': ['10.0.0.1', 'x'.repeat(300)],
  forwarded: ['for="_x"'],
  accept: ['text/html', '*/*;q=0', 'application/json;q=x'],
  range: ['bytes=0-0', 'bytes=-1', 'x'],
  'content-range': [
    'bytes 0-1/2',
    'bytes 0-0/100',
    'bytes 1-0/0',
    'bytes */*',
    `bytes 0-${'9'.repeat(30)}/1`,
  ],
  'x-upload-token': ['tu_j.a.x', `tu_j.a.${'A'.repeat(43)}`, 'x'],
  'content-md5': ['x', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  'x-checksum-sha256': ['x', '0'.repeat(64)],
  expect: ['100-continue', 'x'],
  host: ['evil.example', 'localhost:1', '[::1', 'a b', '127.0.0.1@evil.example'],
  authorization: ['Basic eDp4', 'Bearer', 'Bearer a, Bearer b', 'Bearer \u00ff'],
  'x-request-id': ['x', '\u00ff'.repeat(300)],
  'x-http-method-override': ['DELETE'],
};

/** Returns no headers in most cases, otherwise one or two odd headers. */
export function oddHeaders(random: Random): readonly Header[] {
  if (!random.chance(0.2)) return [];
  return Array.from({ length: 1 + random.below(2) }, () => {
    const [name, values] = random.pick(Object.entries(headerValues));
    return [name, random.pick(values)] as const;
  });
}

const types = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-16',
  'application/json; charset=x',
  'APPLICATION/JSON',
  'application/problem+json',
  '',
  '/',
];

/** Returns the header for JSON in most cases, otherwise another type. Rarely adds a content encoding. */
export function contentType(random: Random): readonly Header[] {
  const type = random.chance(0.96) ? 'application/json' : random.pick(types);
  const encoding: readonly Header[] = random.chance(0.01)
    ? [['content-encoding', random.pick(['gzip', 'br', 'x', 'identity'])]]
    : [];
  return [['content-type', type], ...encoding];
}

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'QUERY'];

/** Returns this method in most cases, otherwise a random method. */
export const methodLike = (method: string, random: Random): string =>
  random.chance(0.97) ? method : random.pick(methods);

/** Returns the JSON unchanged in most cases, otherwise truncated, damaged or replaced by other text. */
export function damaged(json: string, random: Random): string | Uint8Array {
  if (!random.chance(0.04)) return json;
  const at = random.below(json.length + 1);
  switch (random.below(7)) {
    case 0:
      return json.slice(0, at);
    case 1:
      return json + json;
    case 2:
      return `\ufeff${json}`;
    case 3:
      return Buffer.from(json.slice(0, at) + '\u0000' + json.slice(at));
    case 4:
      return Buffer.concat([Buffer.from(json.slice(0, at)), Buffer.from([0xff, 0xc0, 0x80])]);
    case 5:
      return json.replace(/\d+/g, '1e400');
    default:
      return json.replace('{', '{"__proto__":{"name":"x"},"__proto__":1,');
  }
}

/** Returns an empty query in most cases, otherwise a query with repeated names, brackets or invalid escapes. */
export const oddQuery = (random: Random): string =>
  random.chance(0.95)
    ? ''
    : random.pick([
        'limit=1&limit=2',
        'limit[a]=1',
        'limit[]=1',
        '%zz',
        '&&==',
        'a=%00',
        '__proto__=1',
        `q=${'x'.repeat(6_000)}`,
      ]);
