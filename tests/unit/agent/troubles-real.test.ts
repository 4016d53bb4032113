import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { trustCertificates } from '../../../agent/tls.ts';
import { troubleOf } from '../../../agent/troubles.ts';
import { createClient } from '../../../protocol/client.ts';
import { workerApi } from '../../../protocol/worker-api.ts';
import { nobodyThere, tempFolder } from './builders.ts';

/** What Node really throws, and not what we believe that it does. */
async function troubleWith(url: string, timeoutMs = 10_000): Promise<string> {
  const client = createClient({
    baseUrl: url,
    headers: () => ({ 'x-worker-token': 'wt_canary' }),
    timeoutMs,
  });
  const result = await client.call(workerApi.disconnect, { body: {} });
  if (result.ok) return 'no trouble';
  const { message } = troubleOf(result.failure, url);
  expect(message).not.toContain('canary');
  return message;
}

async function listen(server: net.Server, scheme = 'http'): Promise<string> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    if (server instanceof http.Server || server instanceof https.Server) server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return `${scheme}://127.0.0.1:${address.port}`;
}

/** The folder of a new certificate `cert.pem` for 127.0.0.1 that nobody vouches for. */
function selfSigned(altName = 'IP:127.0.0.1'): {
  readonly key: string;
  readonly cert: string;
  readonly file: string;
} {
  const folder = tempFolder();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const made = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=test`;
  const args = [...made.split(' '), '-keyout', key, '-out', cert, '-addext', `subjectAltName=${altName}`];
  execFileSync('openssl', args, { stdio: 'ignore' });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8'), file: cert };
}

const hasOpenssl = ((): boolean => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

const greet: http.RequestListener = (_request, response) => void response.end('{"success":true}');

describe('over plain HTTP', () => {
  it('nothing listens', async () => {
    const url = await nobodyThere();
    expect(await troubleWith(url)).toMatch(/^Connection refused: nothing listens on/);
    expect(await troubleWith(url.replace('127.0.0.1', 'localhost'))).toMatch(/^Connection refused/);
  });

  it.each<[string, () => net.Server, RegExp]>([
    ['hangs up', () => net.createServer(socket => socket.destroy()), /^Connection lost: .*https:\/\/ there/],
    [
      'is no web server',
      () => net.createServer(socket => socket.end('SSH-2.0-x\r\n')),
      /Check address and port/,
    ],
    [
      'is another web server',
      () => http.createServer((_, response) => response.end('hi')),
      /not answer like/,
    ],
  ])('what listens %s', async (_what, make, expected) => {
    expect(await troubleWith(await listen(make()))).toMatch(expected);
  });

  it('what listens never answers', async () => {
    const url = await listen(net.createServer());
    expect(await troubleWith(url, 20)).toMatch(/^No answer from .* in time/);
  });

  it('a redirect is not followed, and the token does not go there', async () => {
    const asked: unknown[] = [];
    const other = await listen(
      http.createServer((request, response) => {
        asked.push(request.headers['x-worker-token']);
        greet(request, response);
      }),
    );
    const url = await listen(
      http.createServer((_, response) => response.writeHead(307, { location: other }).end()),
    );
    expect(await troubleWith(url)).toMatch(/redirects to another address, where the token must not go/);
    expect(asked).toEqual([]);
  });

  it('the server speaks https', async () => {
    const url = await listen(https.createServer({}, greet));
    expect(await troubleWith(url)).toMatch(/^Connection lost: .*speaks https:\/\/ there/);
  });
});

describe('over TLS', () => {
  it('the server speaks http', async () => {
    const url = await listen(http.createServer(greet), 'https');
    expect(await troubleWith(url)).toMatch(/^TLS failed for .*Try http:\/\/ instead/);
  });

  describe.runIf(hasOpenssl)('with certificates', () => {
    const serve = (altName?: string) => {
      const { key, cert, file } = selfSigned(altName);
      return listen(https.createServer({ key, cert }, greet), 'https').then(url => ({ url, file }));
    };
    const restoreTrust = () => {
      const before = tls.getCACertificates('default');
      onTestFinished(() => tls.setDefaultCACertificates(before));
    };

    it('one that nobody vouches for fails, with the way out', async () => {
      const { url } = await serve();
      expect(await troubleWith(url)).toMatch(
        /^SSL certificate verify failed \(DEPTH_ZERO_SELF_SIGNED_CERT\).*--ca-file.*trust store.*--ssl-no-verify/,
      );
    });

    it('one of the file that was given is trusted', async () => {
      const { url, file } = await serve();
      restoreTrust();
      trustCertificates(file, true);
      expect(await troubleWith(url)).toBe('no trouble');
    });

    it('one for another host fails even then', async () => {
      const { url, file } = await serve('DNS:other.test');
      restoreTrust();
      trustCertificates(file, true);
      expect(await troubleWith(url)).toMatch(
        /^SSL certificate verify failed \(ERR_TLS_CERT_ALTNAME_INVALID\)/,
      );
    });

    it('trust can be given up as a whole', async () => {
      const { url } = await serve('DNS:other.test');
      restoreTrust();
      vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', undefined);
      onTestFinished(() => void vi.unstubAllEnvs());
      trustCertificates(null, false);
      expect(await troubleWith(url)).toBe('no trouble');
    });

    it('a file that is not there is an error', () => {
      expect(() => trustCertificates('/nowhere/ca.pem', true)).toThrow('ENOENT');
    });
  });
});
