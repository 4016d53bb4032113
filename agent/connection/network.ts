import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { fetchBy, type Send } from './http-fetch.ts';
import type { ServerCheck } from './tls.ts';
import type { Trust } from './trust.ts';

export { parseTrust, type Trust, usualTrust } from './trust.ts';

/**
 * Creates the `fetch` for all calls to the orchestrator. Over TLS, `fetch` accepts only a server that `trust` allows. It
 * follows no redirects, because every request carries a token. Throws when the CA file cannot be used.
 */
export function openNetwork(trust: Trust): Send {
  const serverCheck = serverCheckOf(trust);
  const agent = new Agent({ keepAlive: true });
  const plain = fetchBy((url, init, onAnswer) => request(url, { ...init, agent }, onAnswer));
  let secure: Promise<Send> | null = null;
  const fetchFor = (url: URL): Send | Promise<Send> => {
    if (url.protocol !== 'https:') {
      if (trust.pins.length > 0) throw new Error('a pin works only with https://');
      return plain;
    }
    // Loaded on first use: the module loads slowly, and a fleet of one machine rarely needs it.
    secure ??= import('./tls.ts').then(({ openSecureFetch }) => openSecureFetch(serverCheck));
    return secure;
  };
  return async (url, init) => {
    const send = await fetchFor(url);
    const answer = await send(url, { ...init, redirect: 'manual' });
    const location = answer.headers.get('location');
    if (answer.status < 300 || answer.status > 399 || location === null) return answer;
    await answer.body?.cancel();
    throw Object.assign(new Error(redirectTargetOf(location, url)), { code: 'ERR_REDIRECTED' });
  };
}

/** Returns the redirect target for messages, without its query, which may contain secrets. */
function redirectTargetOf(location: string, base: URL): string {
  const target = URL.canParse(location, base.href) ? new URL(location, base) : null;
  if (target === null || !/^https?:$/.test(target.protocol)) return 'another address';
  return `${target.origin}${target.pathname}`.slice(0, 200);
}

function serverCheckOf({ pins, verify, caFile }: Trust): ServerCheck {
  // Read the file even when pins make it irrelevant, so that a broken file fails now and not later.
  const extra = caFile === null ? [] : [readAuthority(caFile)];
  if (pins.length > 0) return { kind: 'pins', pins };
  return verify ? { kind: 'authorities', extra } : { kind: 'any_server' };
}

/**
 * Throws when the file is not a PEM certificate. Node would silently ignore it, and every call would fail for no
 * visible reason.
 */
function readAuthority(file: string): string {
  const text = readFileSync(file, 'utf8');
  if (!isCertificate(text)) throw new Error('it contains no certificate in PEM format');
  return text;
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).fingerprint256 !== '';
  } catch {
    return false;
  }
}
