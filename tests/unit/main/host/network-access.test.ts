// Tests join addresses and pins with fake dependencies.
import { expect, test } from 'vitest';
import type { MachineAddress } from '../../../../main/host/addresses.ts';
import { unknownElectricity } from '../../../../protocol/settings-api.ts';
import { joinAddress } from '../../../../main/host/network-access.ts';

const pin = 'sha256:AAAA';

const lan: MachineAddress = { address: '192.0.2.7', family: 'IPv4', interface: 'eth0' };

function addressFor(
  panelUrl: string,
  source: 'own' | 'files' = 'own',
  isSecure = true,
  addresses: readonly MachineAddress[] = [lan],
) {
  const urls = addresses.map(({ address }) => `${isSecure ? 'https' : 'http'}://${address}:8001`);
  return joinAddress(
    {
      network: {
        host: '0.0.0.0',
        isSecure,
        hasLoopbackSocket: true,
        port: 8001,
        url: 'http://127.0.0.1:8001',
        listening: () => ['http://127.0.0.1:8001', ...urls],
        open: () => Promise.resolve(),
        change: () => Promise.reject(new Error('unexpected call')),
        stop: () => undefined,
      },
      given: {
        host: '127.0.0.1',
        isSecure: false,
        localWorker: { enabled: false, gpus: null, trainer: null, workDir: null },
        publicUrl: null,
        auditRetentionDays: null,
        fixedBy: {},
      },
      addresses: () => addresses,
      identity: () => ({
        source,
        key: '',
        certificate: '',
        pin,
        fingerprint: 'AB:CD',
        validFrom: 0,
        expiresAt: 0,
        names: ['yard.lan', '192.0.2.7', 'fd00::7'],
      }),
    },
    {
      host: '0.0.0.0',
      tls: isSecure,
      public_url: null,
      local_worker: { enabled: false, gpus: null, trainer: null, work_dir: null },
      audit_retention_days: null,
      gpu_troubles: { missing: true, errors: true, held: true },
      electricity: unknownElectricity,
    },
    panelUrl,
  );
}

test.each<[panelUrl: string, url: string, pin: string | null]>([
  ['http://127.0.0.1:8001', 'https://192.0.2.7:8001', pin],
  ['https://192.0.2.7:8001', 'https://192.0.2.7:8001', pin],
  ['https://yard.lan:8001', 'https://yard.lan:8001', pin],
  ['https://[fd00::7]:8001', 'https://[fd00::7]:8001', pin],
  // Behind a proxy, the panel has another port, or a host name that is not in the certificate.
  ['https://yard.lan', 'https://yard.lan', null],
  ['https://proxy.example:8001', 'https://proxy.example:8001', null],
  ['http://yard.lan:8001', 'http://yard.lan:8001', null],
  // An invalid URL is returned unchanged.
  ['URL', 'URL', null],
])('returns, for a panel opened at %s, the join address %s', (panelUrl, url, expectedPin) => {
  expect(addressFor(panelUrl)).toEqual({ url, pin: expectedPin });
  expect(addressFor(panelUrl, 'files')).toEqual({ url, pin: null });
});

test('returns a join address without a pin when TLS is off', () => {
  expect(addressFor('http://127.0.0.1:8001', 'own', false)).toEqual({
    url: 'http://192.0.2.7:8001',
    pin: null,
  });
});

const makeAddress = (name: string, address: string): MachineAddress => ({
  address,
  family: 'IPv4',
  interface: name,
});
const docker = makeAddress('docker0', '172.17.0.1');
const loopback = makeAddress('lo', '127.0.0.1');
const tailscale = makeAddress('tailscale0', '100.64.0.7');

test.each<[description: string, addresses: readonly MachineAddress[], url: string]>([
  ['a LAN and a VPN', [docker, tailscale, loopback, lan], 'http://192.0.2.7:8001'],
  ['Tailscale and containers', [docker, tailscale, loopback], 'http://100.64.0.7:8001'],
  ['only WireGuard', [loopback, makeAddress('wg0', '10.8.0.1')], 'http://10.8.0.1:8001'],
  ['only containers', [loopback, docker], 'http://172.17.0.1:8001'],
  ['no network', [loopback], 'http://127.0.0.1:8001'],
])('returns the best address of a shared server with %s', (_case, addresses, url) => {
  expect(addressFor('http://127.0.0.1:8001', 'own', false, addresses)).toEqual({ url, pin: null });
});
