/** Which address stands in a join command, and whether with a pin; all around is make-believe. */
import { expect, test } from 'vitest';
import { joinAddress } from '../../../main/host/network-view.ts';

const pin = 'sha256:AAAA';

function addressFor(called: string, source: 'own' | 'files' = 'own', isSecure = true) {
  const url = `${isSecure ? 'https' : 'http'}://192.0.2.7:8001`;
  return joinAddress(
    {
      network: {
        host: '0.0.0.0',
        isSecure,
        hasHome: true,
        port: 8001,
        url: 'http://127.0.0.1:8001',
        listening: () => ['http://127.0.0.1:8001', url],
        open: () => Promise.resolve(),
        move: () => Promise.reject(new Error('nobody moves it')),
        stop: () => undefined,
      },
      given: {
        host: '127.0.0.1',
        isSecure: false,
        localWorker: { enabled: false, gpus: null, trainer: null, workDir: null },
        auditRetentionDays: null,
        fixedBy: {},
      },
      addresses: () => [{ address: '192.0.2.7', family: 'IPv4', interface: 'eth0' }],
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
    },
    called,
  );
}

test.each<[string, string, string | null]>([
  ['http://127.0.0.1:8001', 'https://192.0.2.7:8001', pin],
  ['https://192.0.2.7:8001', 'https://192.0.2.7:8001', pin],
  ['https://yard.lan:8001', 'https://yard.lan:8001', pin],
  ['https://[fd00::7]:8001', 'https://[fd00::7]:8001', pin],
  // A proxy: at another port, or by a name that is not ours.
  ['https://yard.lan', 'https://yard.lan', null],
  ['https://proxy.example:8001', 'https://proxy.example:8001', null],
  ['http://yard.lan:8001', 'http://yard.lan:8001', null],
  ['URL', 'URL', null],
])('called by %s it is %s', (called, url, expected) => {
  expect(addressFor(called)).toEqual({ url, pin: expected });
  expect(addressFor(called, 'files')).toEqual({ url, pin: null });
});

test('without TLS there is no pin', () => {
  expect(addressFor('http://127.0.0.1:8001', 'own', false)).toEqual({
    url: 'http://192.0.2.7:8001',
    pin: null,
  });
});
