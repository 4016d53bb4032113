import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { StoredTarget } from '../orchestrator/ports/index.ts';
import { isPublic } from './addresses.ts';

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Returns all addresses of a host. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly Address[]>;

export const resolveName: Resolve = host => lookup(host, { all: true });

/** The result of resolving a target's host. Only `found` addresses may be connected to. */
export type Destination =
  | { readonly kind: 'found'; readonly addresses: readonly Address[] }
  | { readonly kind: 'forbidden'; readonly why: string }
  | { readonly kind: 'unknown'; readonly why: string };

const resolveWithinMs = 5_000;

/** Returns the host without the brackets of an IPv6 address. */
const hostOf = (target: StoredTarget): string =>
  (target.kind === 'email' ? target.host : (URL.parse(target.url)?.hostname ?? ''))
    .replace(/^\[|\]$/g, '')
    .toLowerCase();

const isPlain = (target: StoredTarget): boolean =>
  target.kind === 'email' ? target.security === 'none' : !target.url.toLowerCase().startsWith('https:');

/**
 * Resolves a target once and checks every address. The caller connects to the returned addresses, so a name cannot change between
 * check and connection. Allowed hosts may have any address, and need no TLS.
 */
export async function findDestination(
  target: StoredTarget,
  allowed: readonly string[],
  resolve: Resolve,
): Promise<Destination> {
  const host = hostOf(target);
  const isAllowed = allowed.includes(host);
  const remedy = `to allow it, start the server with --notify-allow ${host}`;
  if (isPlain(target) && !isAllowed)
    return {
      kind: 'forbidden',
      why: `${host} would get the notification without TLS: use TLS, or ${remedy}`,
    };
  const addresses = await addressesOf(host, resolve);
  if (addresses.length === 0) return { kind: 'unknown', why: `${host} was not found` };
  if (!isAllowed && !addresses.every(({ address }) => isPublic(address)))
    return { kind: 'forbidden', why: `${host} is not a public address: ${remedy}` };
  return { kind: 'found', addresses };
}

async function addressesOf(host: string, resolve: Resolve): Promise<readonly Address[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const timeout = AbortSignal.timeout(resolveWithinMs);
  const nothingInTime = new Promise<readonly Address[]>(done => {
    timeout.addEventListener('abort', () => done([]), { once: true });
  });
  return Promise.race([resolve(host).catch(() => []), nothingInTime]);
}
