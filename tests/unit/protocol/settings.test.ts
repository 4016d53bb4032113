import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sampleTraining } from '../../../protocol/sample.ts';
import { pinFor, settingsApi } from '../../../protocol/settings-api.ts';

const parse = (body: unknown): unknown => settingsApi.change.body.parse(body);
const isAccepted = (body: unknown): boolean => settingsApi.change.body.safeParse(body).success;

test.each([
  ['https://yard.example', 'https://yard.example'],
  [' http://yard.example:8001/ ', 'http://yard.example:8001'],
  ['https://YARD.example/fleet//', 'https://yard.example/fleet'],
  ['http://[fd00::7]:8001', 'http://[fd00::7]:8001'],
])('normalizes the public address %j to %j', (url, expected) => {
  expect(parse({ public_url: url })).toEqual({ public_url: expected });
});

test.each([
  'yard',
  'ftp://yard',
  'https://a@yard',
  'https://:b@yard',
  'https://yard?',
  'https://yard#x',
  'https://',
])('refuses the public address %j', url => {
  expect(isAccepted({ public_url: url })).toBe(false);
});

test.each(['0.0.0.0', '::', '192.0.2.7', 'fd00::7'])('accepts the listening address %s as host', host => {
  expect(isAccepted({ host })).toBe(true);
});

test('normalizes an IPv6 address as host', () => {
  expect(parse({ host: 'FD00:0:0:0::7' })).toEqual({ host: 'fd00::7' });
});

test('refuses a change that sets both shared and host', () => {
  expect(isAccepted({ shared: true })).toBe(true);
  expect(isAccepted({ shared: true, host: '::' })).toBe(false);
});

test('uses the config digits-quick.json for the sample training', () => {
  const file = new URL(
    `../../../examples/digits/configs/${sampleTraining.config_name}.json`,
    import.meta.url,
  );
  const config: unknown = JSON.parse(readFileSync(file, 'utf8'));
  expect({ ...sampleTraining.config }).toEqual({ ...(config as object), trainer: 'digits' });
});

describe('pinFor', () => {
  const pin = 'sha256:AAAA';
  const own = {
    source: 'own' as const,
    pin,
    fingerprint: 'AB:CD',
    expires_at: '2027-01-01T00:00:00.000Z',
    names: ['yard.lan', '192.0.2.7', 'fd00::7'],
  };

  test.each<[string, string | null]>([
    ['https://yard.lan:8001', pin],
    ['https://192.0.2.7:8001', pin],
    ['https://[fd00::7]:8001', pin],
    // No pin applies to plain HTTP, to a proxy on another port, to another host, and to an invalid URL.
    ['http://192.0.2.7:8001', null],
    ['https://yard.lan', null],
    ['https://yard.example:8001', null],
    ['URL', null],
  ])('returns for the URL %s of a server with a generated certificate the pin %j', (url, expected) => {
    expect(pinFor({ tls: own, port: 8001 }, url)).toBe(expected);
    expect(pinFor({ tls: { ...own, source: 'files' }, port: 8001 }, url)).toBeNull();
    expect(pinFor({ tls: null, port: 8001 }, url)).toBeNull();
  });

  test('returns the pin for a URL without a port when the server listens on 443', () => {
    expect(pinFor({ tls: own, port: 443 }, 'https://yard.lan')).toBe(pin);
  });
});
