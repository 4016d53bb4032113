import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { systemApi } from '../protocol/admin-api.ts';
import { createClient, type Fetch, type Send } from '../protocol/client.ts';

/** The local address and port of the socket on which a challenge arrived, as the server sees it. */
export interface ReachedAt {
  readonly address: string;
  readonly port: number;
}

export type Prove = (nonce: string, at: ReachedAt) => string;

/**
 * Creates the function that proves that this server has the key of its data folder, without revealing the key. The proof names
 * the socket on which the challenge arrived. So a program on another port cannot relay the real server's answer (docs/adr/0026).
 */
export function createProver(folderKey: Uint8Array): Prove {
  const key = new Uint8Array(hkdfSync('sha256', folderKey, '', 'trainyard server proof', 32));
  return (nonce, { address, port }) =>
    createHmac('sha256', key)
      .update(`${nonce} ${address.replace(/^::ffff:(?=\d+\.)/i, '')} ${port}`)
      .digest('hex');
}

/** The program at the address did not prove that it uses the data folder, so it must not receive a token. */
class NotProven extends Error {
  override readonly name = 'NotProven';
  readonly code = 'ERR_NOT_PROVEN';
}

export interface Challenged {
  readonly url: string;
  /** Data folder that the server is expected to use. */
  readonly dataDir: string;
  readonly fetch: Fetch;
}

const timeoutMs = 5_000;

/** Resolves when the server proves that it uses the data folder. Rejects with `NotProven`, or with the network error. */
export async function challenge({ url, dataDir, fetch }: Challenged): Promise<void> {
  const nonce = randomBytes(32).toString('base64url');
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs, fetch });
  const answer = await client.call(systemApi.prove, { body: { nonce } });
  if (!answer.ok) {
    const { failure } = answer;
    if (failure.kind === 'unreachable') throw failure.cause;
    throw new NotProven(`it answered the challenge with ${failure.status}`);
  }
  const givenProof = Buffer.from(answer.value.proof, 'hex');
  const expected = socketsOf(url).map(at => Buffer.from(proverOf(dataDir)(nonce, at), 'hex'));
  if (!expected.some(proof => proof.length === givenProof.length && timingSafeEqual(proof, givenProof)))
    throw new NotProven('its proof is wrong');
}

/** Wraps `fetch` for requests that carry a token of the data folder. Sends each request only after a successful proof. */
export const provenFetch =
  ({ url, dataDir, fetch }: Challenged & { readonly fetch: Send }): Send =>
  async (to, init) => {
    await challenge({ url, dataDir, fetch });
    return fetch(to, init);
  };

function proverOf(dataDir: string): Prove {
  const text = readFileSync(join(dataDir, 'audit-key'), 'utf8').trim();
  if (!/^[0-9a-f]{64}$/.test(text)) throw new NotProven('the file audit-key of the data folder is damaged');
  return createProver(Buffer.from(text, 'hex'));
}

/** Returns the sockets to which a URL may refer; empty for a host name other than localhost. */
function socketsOf(url: string): readonly ReachedAt[] {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const defaultPort = protocol === 'https:' ? 443 : 80;
  const number = port === '' ? defaultPort : Number(port);
  return addressesOf(host).map(address => ({ address, port: number }));
}

function addressesOf(host: string): readonly string[] {
  if (host === 'localhost') return ['127.0.0.1', '::1'];
  return isIP(host) === 0 ? [] : [host];
}
