import http from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openNetwork, type Trust, usualTrust } from '../../../../agent/connection/network.ts';
import { parsePins } from '../../../../agent/connection/trust.ts';
import { explainFailure } from '../../../../agent/connection/connection-warnings.ts';
import { createClient } from '../../../../protocol/client.ts';
import { workerApi } from '../../../../protocol/worker-api.ts';
import { type Identity, makeIdentity } from '../../../support/tls/identity.ts';
import { httpAnswer, type Listener, startListener } from '../../../support/tls/listener.ts';
import { tempFolder, writeFile } from '../builders.ts';

const canary = 'wt_canary';

function trustPinned(...identities: readonly Identity[]): Trust {
  const pins = parsePins(identities.map(({ pin }) => pin));
  if (!pins.ok) throw new Error(pins.message);
  return { ...usualTrust, pins: pins.value };
}

const trustAuthority = (identity: Identity): Trust => ({
  ...usualTrust,
  caFile: writeFile(tempFolder(), 'ca.pem', identity.cert),
});

/** Makes a call with a token. Returns the message about its failure, or 'none'. */
async function call(url: string, trust: Trust, fetch = openNetwork(trust)): Promise<string> {
  const headers = () => ({ 'x-worker-token': canary });
  const client = createClient({ baseUrl: url, headers, timeoutMs: 10_000, fetch });
  const result = await client.call(workerApi.disconnect, { body: {} });
  if (result.ok) return 'none';
  const message = explainFailure(result.failure, url);
  expect(message).not.toContain(canary);
  return message;
}

/** Expects that the client sent nothing after the TLS handshake. */
async function expectNothingSent(listener: Listener, connections = 1): Promise<void> {
  await listener.ended(connections);
  expect(listener.connections()).toBe(connections);
  // The first record is a TLS handshake (RFC 8446, section 5.1).
  expect(listener.wire()[0]).toBe(22);
  expect(listener.wire().length).toBeGreaterThan(100);
  expect(listener.received()).toBe('');
}

describe('connections with a pin', () => {
  it('accepts a server with the pinned key, whatever issuer and names its certificate has', async () => {
    const identity = await makeIdentity({ names: ['elsewhere.test'] });
    const listener = await startListener(identity);
    expect(await call(listener.url, trustPinned(identity))).toBe('none');
    expect(listener.received()).toContain(canary);
  });

  it('accepts one of several pinned keys, so that a key can be changed', async () => {
    const [oldIdentity, newIdentity] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(newIdentity);
    expect(await call(listener.url, trustPinned(oldIdentity, newIdentity))).toBe('none');
  });

  it('accepts a renewed certificate with the pinned key', async () => {
    const first = await makeIdentity();
    const renewed = await makeIdentity({ keyOf: first, hours: [-1, 48] });
    expect(renewed.pin).toBe(first.pin);
    expect(renewed.cert).not.toBe(first.cert);
    const listener = await startListener(renewed);
    expect(await call(listener.url, trustPinned(first))).toBe('none');
  });

  it('rejects a server with another key after the handshake, and sends no HTTP', async () => {
    const [pinned, unknown] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(unknown);
    const trouble = await call(listener.url, trustPinned(pinned));
    expect(trouble).toMatch(
      /^SSL certificate verify failed \(ERR_PIN_MISMATCH\): the server at https:.* is not/,
    );
    expect(trouble).toContain(`it presented ${unknown.pin}`);
    expect(trouble).toContain('Compare its key with the value that the panel shows');
    await expectNothingSent(listener);
  });

  it('rejects a server with another key even if a trusted authority has signed its certificate', async () => {
    const [pinned, unknown] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(unknown);
    const trust = { ...trustAuthority(unknown), pins: trustPinned(pinned).pins };
    expect(await call(listener.url, trust)).toContain('ERR_PIN_MISMATCH');
    await expectNothingSent(listener);
  });

  it.each<[string, readonly [number, number], RegExp]>([
    [
      'has expired',
      [-48, -24],
      /^SSL certificate verify failed \(CERT_HAS_EXPIRED\).*Check this machine's clock/,
    ],
    [
      'is not valid yet',
      [24, 48],
      /^SSL certificate verify failed \(CERT_NOT_YET_VALID\).*Check this machine's clock/,
    ],
  ])('rejects a certificate that %s, even with the pinned key', async (_title, hours, expected) => {
    const identity = await makeIdentity({ hours });
    const listener = await startListener(identity);
    expect(await call(listener.url, trustPinned(identity))).toMatch(expected);
    await expectNothingSent(listener);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'checks the key again when a TLS session is resumed (%s)',
    async maxVersion => {
      const [pinned, unknown] = [await makeIdentity(), await makeIdentity()];
      const answer = httpAnswer(200, '{"success":true}', { connection: 'close' });
      const listener = await startListener(pinned, { tls: { maxVersion }, answer });
      const fetch = openNetwork(trustPinned(pinned));
      expect(await call(listener.url, usualTrust, fetch)).toBe('none');
      await listener.ended(1);
      // A resumed session contains no key to check, so the client must start a full handshake.
      expect(await call(listener.url, usualTrust, fetch)).toBe('none');
      await listener.ended(2);
      const before = listener.received();
      listener.present(unknown);
      expect(await call(listener.url, usualTrust, fetch)).toContain('ERR_PIN_MISMATCH');
      await listener.ended(3);
      expect(listener.received()).toBe(before);
      expect(listener.resumed()).toBe(0);
    },
  );

  it('sends nothing to an http address when a pin is set', async () => {
    const server = await startHttp(httpAnswer(200, '{"success":true}'));
    expect(await call(server.url, trustPinned(await makeIdentity()))).toContain(
      'a pin works only with https://',
    );
    expect(server.calls()).toBe(0);
  });

  it('checks the pin on each of many parallel connections', async () => {
    const [pinned, unknown] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(unknown);
    const fetch = openNetwork(trustPinned(pinned));
    const troubles = await Promise.all(
      Array.from({ length: 8 }, () => call(listener.url, usualTrust, fetch)),
    );
    for (const trouble of troubles) expect(trouble).toContain('ERR_PIN_MISMATCH');
    await expectNothingSent(listener, listener.connections());
  });
});

describe('connections without a pin', () => {
  it('rejects a certificate of an unknown issuer, and names the remedy', async () => {
    const listener = await startListener(await makeIdentity());
    const trouble = await call(listener.url, usualTrust);
    expect(trouble).toMatch(
      /^SSL certificate verify failed \(DEPTH_ZERO_SELF_SIGNED_CERT\).*--pin with the value that the panel shows.*--ca-file.*trust store.*--ssl-no-verify only for tests$/,
    );
    await expectNothingSent(listener);
  });

  it('accepts a certificate that an authority in --ca-file has signed', async () => {
    const identity = await makeIdentity();
    const listener = await startListener(identity);
    expect(await call(listener.url, trustAuthority(identity))).toBe('none');
  });

  it.each<[string, Parameters<typeof makeIdentity>[0], RegExp]>([
    [
      'for other names',
      { names: ['other.test'] },
      /\(ERR_TLS_CERT_ALTNAME_INVALID\).*for other names \(DNS:other\.test\)\. Use one of them in --orchestrator-url, or use --pin/,
    ],
    [
      'that has expired',
      { hours: [-48, -24] },
      /\(CERT_HAS_EXPIRED\).*Check this machine's clock first.*renew/,
    ],
    [
      'that is not valid yet',
      { hours: [24, 48] },
      /\(CERT_NOT_YET_VALID\).*Check this machine's clock first/,
    ],
  ])('rejects a certificate %s even with --ca-file', async (_title, options, expected) => {
    const identity = await makeIdentity(options);
    const listener = await startListener(identity);
    expect(await call(listener.url, trustAuthority(identity))).toMatch(expected);
    await expectNothingSent(listener);
  });

  it('accepts any certificate with --ssl-no-verify', async () => {
    const listener = await startListener(await makeIdentity({ names: ['other.test'], hours: [-48, -24] }));
    expect(await call(listener.url, { ...usualTrust, verify: false })).toBe('none');
  });

  it.each([
    ['does not exist', '/nowhere/ca.pem', 'ENOENT'],
    ['contains no certificate', import.meta.filename, 'it contains no certificate'],
  ])('throws for a CA file that %s, also with a pin', async (_title, caFile, why) => {
    expect(() => openNetwork({ ...usualTrust, caFile })).toThrow(why);
    expect(() => openNetwork({ ...trustPinned(unusedIdentity), caFile })).toThrow(why);
  });
});

const unusedIdentity: Identity = { key: '', cert: '', pin: `sha256:${'A'.repeat(43)}=` };

describe('redirects', () => {
  it.each([301, 302, 303, 307, 308])(
    'names a redirect with status %d, and does not follow it',
    async status => {
      const identity = await makeIdentity();
      const target = await startListener(identity);
      const location = `${target.url}/api/workers/disconnect?secret=1`;
      const listener = await startListener(identity, { answer: httpAnswer(status, '', { location }) });
      expect(await call(listener.url, trustPinned(identity))).toBe(
        `${listener.url} redirects to ${target.url}/api/workers/disconnect. The token was not sent there. If that is the orchestrator, ` +
          'use its address in --orchestrator-url. If it is not, check which server answers instead of the orchestrator',
      );
      expect(target.connections()).toBe(0);
    },
  );

  it('follows no redirect over plain HTTP, not even to the same server', async () => {
    const target = await startHttp(httpAnswer(200, '{"success":true}'));
    const server = await startHttp(httpAnswer(307, '', { location: `${target.url}/x` }));
    expect(await call(server.url, usualTrust)).toContain(
      `redirects to ${target.url}/x. The token was not sent`,
    );
    expect(target.calls()).toBe(0);
    const circular = await startHttp(httpAnswer(307, '', { location: '/elsewhere' }));
    expect(await call(circular.url, usualTrust)).toContain(`redirects to ${circular.url}/elsewhere. The`);
    expect(circular.calls()).toBe(1);
  });

  it.each([
    ['http://user:secret@host.test/x', 'redirects to http://host.test/x.'],
    ['javascript:alert(1)', 'redirects to another address.'],
    ['http://', 'redirects to another address.'],
    ['http://host.test/%1b[31m\u001b[31m', 'redirects to http://host.test/%1b[31m'],
  ])('reports a redirect to %j without control characters or credentials', async (location, expected) => {
    const server = await startHttp(httpAnswer(302, '', { location }));
    const trouble = await call(server.url, usualTrust);
    expect(trouble).not.toContain('\u001b');
    expect(trouble).not.toContain('secret');
    if (trouble.includes('redirects')) expect(trouble).toContain(expected);
    else expect(trouble).toContain('could not be reached');
  });

  it('treats a redirect without a location as any other response', async () => {
    const server = await startHttp(httpAnswer(304, ''));
    expect(await call(server.url, usualTrust)).toContain('had the unexpected response 304');
  });
});

/** Starts a plain HTTP server that answers each request in the same way. */
async function startHttp(answer: string) {
  let calls = 0;
  const server = http.createServer(request => {
    calls += 1;
    request.socket.end(answer);
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${address.port}`, calls: () => calls };
}
