import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { sampleTraining } from '../../../protocol/sample.ts';
import { pinFor, settingsApi } from '../../../protocol/settings-api.ts';

const taken = (body: unknown): unknown => settingsApi.change.body.parse(body);
const isTaken = (body: unknown): boolean => settingsApi.change.body.safeParse(body).success;

test.each([
  ['https://yard.example', 'https://yard.example'],
  [' http://yard.example:8001/ ', 'http://yard.example:8001'],
  ['https://YARD.example/fleet//', 'https://yard.example/fleet'],
  ['http://[fd00::7]:8001', 'http://[fd00::7]:8001'],
])('the public address %j is kept as %j', (given, kept) => {
  expect(taken({ public_url: given })).toEqual({ public_url: kept });
});

test.each([
  'yard',
  'ftp://yard',
  'https://a@yard',
  'https://:b@yard',
  'https://yard?',
  'https://yard#x',
  'https://',
])('%j is no public address', url => {
  expect(isTaken({ public_url: url })).toBe(false);
});

test.each(['0.0.0.0', '::', '192.0.2.7', 'fd00::7'])('%s is a host', host => {
  expect(isTaken({ host })).toBe(true);
});

test('an address is kept as machines say it', () => {
  expect(taken({ host: 'FD00:0:0:0::7' })).toEqual({ host: 'fd00::7' });
});

test('where to listen is said once', () => {
  expect(isTaken({ shared: true })).toBe(true);
  expect(isTaken({ shared: true, host: '::' })).toBe(false);
});

test('the sample is the quick config of the example', () => {
  const file = new URL(
    `../../../examples/digits/configs/${sampleTraining.config_name}.json`,
    import.meta.url,
  );
  const config: unknown = JSON.parse(readFileSync(file, 'utf8'));
  expect({ ...sampleTraining.config }).toEqual({ ...(config as object), trainer: 'digits' });
});

describe('a pin', () => {
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
    // Plain HTTP, a proxy at another port, another host, and no valid URL.
    ['http://192.0.2.7:8001', null],
    ['https://yard.lan', null],
    ['https://yard.example:8001', null],
    ['URL', null],
  ])('of the own certificate at %s is %j', (url, expected) => {
    expect(pinFor({ tls: own, port: 8001 }, url)).toBe(expected);
    expect(pinFor({ tls: { ...own, source: 'files' }, port: 8001 }, url)).toBeNull();
    expect(pinFor({ tls: null, port: 8001 }, url)).toBeNull();
  });

  test('goes with an address that names no port where that is 443', () => {
    expect(pinFor({ tls: own, port: 443 }, 'https://yard.lan')).toBe(pin);
  });
});
