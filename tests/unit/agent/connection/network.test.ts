import http from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openNetwork, type Trust, usualTrust } from '../../../../agent/connection/network.ts';
import { parsePins } from '../../../../agent/connection/pins.ts';
import { troubleOf } from '../../../../agent/connection/troubles.ts';
import { createClient } from '../../../../protocol/client.ts';
import { workerApi } from '../../../../protocol/worker-api.ts';
import { type Identity, makeIdentity } from '../../../support/tls/identity.ts';
import { httpAnswer, type Listener, startListener } from '../../../support/tls/listener.ts';
import { tempFolder, writeFile } from '../builders.ts';

const canary = 'wt_canary';

function pinning(...identities: readonly Identity[]): Trust {
  const pins = parsePins(identities.map(({ pin }) => pin));
  if (!pins.ok) throw new Error(pins.message);
  return { ...usualTrust, pins: pins.value };
}

const trusting = (identity: Identity): Trust => ({
  ...usualTrust,
  caFile: writeFile(tempFolder(), 'ca.pem', identity.cert),
});

/** The result of a call with a token: the description of its failure, or 'none'. */
async function call(url: string, trust: Trust, fetch = openNetwork(trust)): Promise<string> {
  const headers = () => ({ 'x-worker-token': canary });
  const client = createClient({ baseUrl: url, headers, timeoutMs: 10_000, fetch });
  const result = await client.call(workerApi.disconnect, { body: {} });
  if (result.ok) return 'none';
  const { message } = troubleOf(result.failure, url);
  expect(message).not.toContain(canary);
  return message;
}

/** There was a handshake, and it was the last that was heard. */
async function expectNothingSent(listener: Listener, connections = 1): Promise<void> {
  await listener.ended(connections);
  expect(listener.connections()).toBe(connections);
  // A TLS record of the handshake (RFC 8446, section 5.1), and no small one.
  expect(listener.wire()[0]).toBe(22);
  expect(listener.wire().length).toBeGreaterThan(100);
  expect(listener.received()).toBe('');
}

describe('with a pin', () => {
  it('a server that has the key is taken, whoever has issued its certificate and for whatever names', async () => {
    const identity = await makeIdentity({ names: ['elsewhere.test'] });
    const listener = await startListener(identity);
    expect(await call(listener.url, pinning(identity))).toBe('none');
    expect(listener.received()).toContain(canary);
  });

  it('one of several is enough, so that a key can be changed', async () => {
    const [old, fresh] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(fresh);
    expect(await call(listener.url, pinning(old, fresh))).toBe('none');
  });

  it('a renewed certificate for the same key is taken', async () => {
    const first = await makeIdentity();
    const renewed = await makeIdentity({ keyOf: first, hours: [-1, 48] });
    expect(renewed.pin).toBe(first.pin);
    expect(renewed.cert).not.toBe(first.cert);
    const listener = await startListener(renewed);
    expect(await call(listener.url, pinning(first))).toBe('none');
  });

  it('another key is refused after the handshake, before a single byte of HTTP', async () => {
    const [ours, theirs] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(theirs);
    const trouble = await call(listener.url, pinning(ours));
    expect(trouble).toMatch(
      /^SSL certificate verify failed \(ERR_PIN_MISMATCH\): what answers at https:.* is not/,
    );
    expect(trouble).toContain(`it presented ${theirs.pin}`);
    expect(trouble).toContain('Compare with the value that the panel shows');
    await expectNothingSent(listener);
  });

  it('an authority that vouches for another key changes nothing', async () => {
    const [ours, theirs] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(theirs);
    const trust = { ...trusting(theirs), pins: pinning(ours).pins };
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
  ])('a certificate that %s is refused, though it has the key', async (_what, hours, expected) => {
    const identity = await makeIdentity({ hours });
    const listener = await startListener(identity);
    expect(await call(listener.url, pinning(identity))).toMatch(expected);
    await expectNothingSent(listener);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a session of earlier does not stand for the key (%s)',
    async maxVersion => {
      const [ours, theirs] = [await makeIdentity(), await makeIdentity()];
      const answer = httpAnswer(200, '{"success":true}', { connection: 'close' });
      const listener = await startListener(ours, { tls: { maxVersion }, answer });
      const fetch = openNetwork(pinning(ours));
      expect(await call(listener.url, usualTrust, fetch)).toBe('none');
      await listener.ended(1);
      // One that goes on with a session shows no key: it would have to be refused, or be believed.
      expect(await call(listener.url, usualTrust, fetch)).toBe('none');
      await listener.ended(2);
      const before = listener.received();
      listener.present(theirs);
      expect(await call(listener.url, usualTrust, fetch)).toContain('ERR_PIN_MISMATCH');
      await listener.ended(3);
      expect(listener.received()).toBe(before);
      expect(listener.resumed()).toBe(0);
    },
  );

  it('nothing is sent to an http address', async () => {
    const server = await startHttp(httpAnswer(200, '{"success":true}'));
    expect(await call(server.url, pinning(await makeIdentity()))).toContain('a pin is for https:// alone');
    expect(server.calls()).toBe(0);
  });

  it('each of many connections at a time is looked at', async () => {
    const [ours, theirs] = [await makeIdentity(), await makeIdentity()];
    const listener = await startListener(theirs);
    const fetch = openNetwork(pinning(ours));
    const troubles = await Promise.all(
      Array.from({ length: 8 }, () => call(listener.url, usualTrust, fetch)),
    );
    for (const trouble of troubles) expect(trouble).toContain('ERR_PIN_MISMATCH');
    await expectNothingSent(listener, listener.connections());
  });
});

describe('without a pin', () => {
  it('a certificate that nobody vouches for is refused, with the way out', async () => {
    const listener = await startListener(await makeIdentity());
    const trouble = await call(listener.url, usualTrust);
    expect(trouble).toMatch(
      /^SSL certificate verify failed \(DEPTH_ZERO_SELF_SIGNED_CERT\).*--pin with the value that the panel shows.*--ca-file.*trust store.*--ssl-no-verify is for a test$/,
    );
    await expectNothingSent(listener);
  });

  it('one that the given file vouches for is taken', async () => {
    const identity = await makeIdentity();
    const listener = await startListener(identity);
    expect(await call(listener.url, trusting(identity))).toBe('none');
  });

  it.each<[string, Parameters<typeof makeIdentity>[0], RegExp]>([
    [
      'for other names',
      { names: ['other.test'] },
      /\(ERR_TLS_CERT_ALTNAME_INVALID\).*for other names \(DNS:other\.test\)\. Use one of those in --orchestrator-url, or give --pin/,
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
  ])('one %s is refused even then', async (_what, options, expected) => {
    const identity = await makeIdentity(options);
    const listener = await startListener(identity);
    expect(await call(listener.url, trusting(identity))).toMatch(expected);
    await expectNothingSent(listener);
  });

  it('anybody is taken when nothing is to be verified', async () => {
    const listener = await startListener(await makeIdentity({ names: ['other.test'], hours: [-48, -24] }));
    expect(await call(listener.url, { ...usualTrust, verify: false })).toBe('none');
  });

  it.each([
    ['is not there', '/nowhere/ca.pem', 'ENOENT'],
    ['holds no certificate', import.meta.filename, 'there is no certificate in it'],
  ])('a file that %s is an error, with a pin, too', async (_what, caFile, why) => {
    expect(() => openNetwork({ ...usualTrust, caFile })).toThrow(why);
    expect(() => openNetwork({ ...pinning(identityOfNobody), caFile })).toThrow(why);
  });
});

const identityOfNobody: Identity = { key: '', cert: '', pin: `sha256:${'A'.repeat(43)}=` };

describe('an answer that sends elsewhere', () => {
  it.each([301, 302, 303, 307, 308])('with %d is told and not followed', async status => {
    const identity = await makeIdentity();
    const there = await startListener(identity);
    const location = `${there.url}/api/workers/disconnect?secret=1`;
    const listener = await startListener(identity, { answer: httpAnswer(status, '', { location }) });
    expect(await call(listener.url, pinning(identity))).toBe(
      `${listener.url} redirects to ${there.url}/api/workers/disconnect, where the token must not go. If that is the orchestrator, ` +
        'give its address with --orchestrator-url; if it is not, see what answers in its place',
    );
    expect(there.connections()).toBe(0);
  });

  it('is not followed over plain HTTP, either, nor to the same address', async () => {
    const there = await startHttp(httpAnswer(200, '{"success":true}'));
    const server = await startHttp(httpAnswer(307, '', { location: `${there.url}/x` }));
    expect(await call(server.url, usualTrust)).toContain(`redirects to ${there.url}/x, where the token`);
    expect(there.calls()).toBe(0);
    const circle = await startHttp(httpAnswer(307, '', { location: '/elsewhere' }));
    expect(await call(circle.url, usualTrust)).toContain(`redirects to ${circle.url}/elsewhere, where`);
    expect(circle.calls()).toBe(1);
  });

  it.each([
    ['http://user:secret@host.test/x', 'redirects to http://host.test/x,'],
    ['javascript:alert(1)', 'redirects to another place,'],
    ['http://', 'redirects to another place,'],
    ['http://host.test/%1b[31m\u001b[31m', 'redirects to http://host.test/%1b[31m'],
  ])('to %j is told without what could do harm', async (location, expected) => {
    const server = await startHttp(httpAnswer(302, '', { location }));
    const trouble = await call(server.url, usualTrust);
    expect(trouble).not.toContain('\u001b');
    expect(trouble).not.toContain('secret');
    if (trouble.includes('redirects')) expect(trouble).toContain(expected);
    else expect(trouble).toContain('could not be reached');
  });

  it('but does not say where is an answer like others', async () => {
    const server = await startHttp(httpAnswer(304, ''));
    expect(await call(server.url, usualTrust)).toContain('was answered 304');
  });
});

/** A server without TLS that has one answer for all. */
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
