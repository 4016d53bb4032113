import { expect, test } from 'vitest';
import type { SettingsView } from '../../../../../../protocol/settings-api.ts';
import { joinUrls } from '../../../../../../renderer/pages/workers/join/join-urls.ts';

type Address = SettingsView['network']['addresses'][number];

const loopbackUrl = 'http://127.0.0.1:8001';
const createAddress = (url: string, name: string, overrides: Partial<Address> = {}): Address => ({
  url,
  interface: name,
  family: 'IPv4',
  listening: true,
  note: null,
  ...overrides,
});
const settingsWith = (addresses: Address[], publicUrl: string | null = null) => ({
  public_url: publicUrl,
  network: {
    host: '0.0.0.0',
    port: 8001,
    shared: true,
    fixed_by: null,
    tls: null,
    tls_fixed_by: null,
    listening: [],
    addresses,
    notice: null,
  },
});
const lan = createAddress('http://192.0.2.7:8001', 'eth0');
const docker = createAddress('http://172.17.0.1:8001', 'docker0', { note: 'virtual' });
const loopback = createAddress(loopbackUrl, 'lo', { note: 'loopback' });
const closed = createAddress('http://[fd00::7]:8001', 'eth0', { listening: false });

const page = { url: loopbackUrl, kind: 'page', interface: null, note: 'loopback' };

test('lists only the address of the page before the settings are known', () => {
  expect(joinUrls(null, loopbackUrl)).toEqual([page]);
  expect(joinUrls(null, 'https://yard.example')).toEqual([
    { url: 'https://yard.example', kind: 'page', interface: null, note: null },
  ]);
});

test('lists reachable addresses before the loopback address of the page, and omits closed addresses', () => {
  const urls = joinUrls(settingsWith([lan, docker, loopback, closed]), loopbackUrl);
  expect(urls).toEqual([
    { url: lan.url, kind: 'interface', interface: 'eth0', note: null },
    { url: docker.url, kind: 'interface', interface: 'docker0', note: 'virtual' },
    { ...page, interface: 'lo' },
  ]);
});

test('lists the address of the page first and only once when the page is not on a loopback address', () => {
  const urls = joinUrls(settingsWith([docker, lan, loopback]), lan.url);
  expect(urls.map(({ url, kind, interface: name }) => [url, kind, name])).toEqual([
    [lan.url, 'page', 'eth0'],
    [docker.url, 'interface', 'docker0'],
  ]);
});

test('lists the configured public URL first and only once', () => {
  const urls = joinUrls(settingsWith([lan, loopback], lan.url), loopbackUrl);
  expect(urls.map(({ url, kind }) => [url, kind])).toEqual([
    [lan.url, 'public'],
    [loopbackUrl, 'page'],
  ]);
  expect(joinUrls(settingsWith([lan], 'http://localhost:9000'), lan.url)[0]).toMatchObject({
    note: 'loopback',
  });
});
