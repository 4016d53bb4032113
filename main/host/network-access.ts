import { join } from 'node:path';
import { reachableFor } from '../../protocol/reachable.ts';
import { pinFor, type Settings, type SettingsView } from '../../protocol/settings-api.ts';
import type { Orchestrator } from '../orchestrator/index.ts';
import type { Clock, Log } from '../orchestrator/ports/index.ts';
import { byReach, isLoopback, type MachineAddress, reachOf, urlOf } from './addresses.ts';
import { type Network, createNetwork, type NetworkDeps } from './network.ts';
import type { Identity } from './tls/identity.ts';
import { certificateNames } from './own-names.ts';
import { createCertificates, type TlsDeps } from './tls/index.ts';
import { type Given, effectiveSettings } from './settings-sources.ts';

/** Records in the log and in the audit trail that other machines connect without encryption. */
const warnExposed =
  (orchestrator: { readonly access: Pick<Orchestrator['access'], 'noteSettings'> }, log: Log) =>
  (host: string): void => {
    log.warn('server.exposed', {
      host,
      note: 'tokens travel unencrypted: turn on TLS (--ssl), or put a proxy with TLS in front',
    });
    orchestrator.access
      .noteSettings([{ type: 'settings.exposed', details: { host } }], { type: 'system' })
      .catch((cause: unknown) => log.error('server.exposed_not_noted', { host, cause }));
  };

interface NetworkAccessDeps {
  readonly given: Given & {
    readonly port: number;
    readonly dataDir: string;
    readonly certificateFiles: TlsDeps['files'];
  };
  readonly settings: Parameters<typeof effectiveSettings>[1];
  readonly addresses: () => readonly MachineAddress[];
  /** Returns names of the machine that the server cannot detect, for example from `--allow-host`. */
  readonly otherNames: () => readonly string[];
  readonly listen: NetworkDeps['listen'];
  readonly setCertificate: TlsDeps['setCertificate'];
  readonly clock: Clock;
  readonly log: Log;
  readonly orchestrator: { readonly access: Pick<Orchestrator['access'], 'noteSettings'> };
}

/** Creates the network and its certificates. */
export function createNetworkAccess(deps: NetworkAccessDeps) {
  const { given, settings, addresses, otherNames, listen, setCertificate, clock, log, orchestrator } = deps;
  const network = createNetwork({
    listen,
    addresses,
    clock,
    log,
    port: given.port,
    fixedHost: given.fixedBy.host === undefined ? null : given.host,
    access: { host: settings.host, isSecure: effectiveSettings(given, settings).tls },
    onExposed: warnExposed(orchestrator, log),
  });
  const certificates = createCertificates({
    files: given.certificateFiles,
    folder: join(given.dataDir, 'tls'),
    names: () => certificateNames(addresses(), [...otherNames(), network.host]),
    clock,
    log,
    orchestrator,
    setCertificate,
  });
  return { network, certificates };
}

type View = SettingsView['network'];

export interface NetworkViewDeps {
  readonly network: Network;
  readonly given: Given;
  readonly addresses: () => readonly MachineAddress[];
  /** Returns the certificate that TLS clients see; null before TLS was first enabled. */
  readonly identity: () => Identity | null;
}

const notice =
  'Tokens and configs travel unencrypted: share only with a network that you trust, or turn on TLS';

/** Returns the part of the settings view that describes the network. */
export function networkView({ network, given, addresses, identity }: NetworkViewDeps): View {
  const { host, port, isSecure } = network;
  const listening = network.listening();
  const shared = !isLoopback(host);
  const shown = isSecure ? identity() : null;
  return {
    host,
    port,
    shared,
    fixed_by: given.fixedBy.host ?? null,
    tls: shown === null ? null : tlsView(shown),
    tls_fixed_by: tlsFixedBy(network, given),
    listening: [...listening],
    addresses: addresses()
      .toSorted(byReach)
      .map(each => {
        const plain = urlOf(each.address, port, false);
        const secure = urlOf(each.address, port, true);
        const isHere = listening.includes(plain) || reachOf(each) === 'loopback';
        const url = isSecure && (listening.includes(secure) || !isHere) ? secure : plain;
        return {
          url,
          interface: each.interface,
          family: each.family,
          listening: listening.includes(url),
          note: reachOf(each),
        };
      }),
    notice: shared && !isSecure ? notice : null,
  };
}

const tlsView = ({ source, pin, fingerprint, expiresAt, names }: Identity): NonNullable<View['tls']> => ({
  source,
  pin,
  fingerprint,
  expires_at: new Date(expiresAt).toISOString(),
  names: [...names],
});

/**
 * Returns the setting that prevents a change of TLS; null if it can be changed. If a flag puts the only socket on one external
 * address, TLS there would exclude clients on this machine.
 */
export const tlsFixedBy = ({ isSecure, hasLoopbackSocket }: Network, { fixedBy }: Given): string | null =>
  fixedBy.ssl ?? (isSecure || hasLoopbackSocket ? null : (fixedBy.host ?? null));

/** The URL for a new worker, and the pin of the key that it will see there. */
export interface JoinAddress {
  readonly url: string;
  /** Null without TLS, behind a TLS proxy, or for a certificate that the worker's system trusts anyway. */
  readonly pin: string | null;
}

/** Returns the address for a new worker. `called` is the URL under which the client has called this server. */
export function joinAddress(deps: NetworkViewDeps, set: Settings, called: string): JoinAddress {
  const view = networkView(deps);
  const url = set.public_url ?? reachableFor(view, called);
  return { url, pin: pinFor(view, url) };
}

/** Returns the address for a join script. `called` is the URL under which the client has requested the script. */
export function scriptAddress(deps: NetworkViewDeps, set: Settings, called: string): JoinAddress {
  const isPublic =
    set.public_url !== null && URL.canParse(called) && new URL(set.public_url).host === new URL(called).host;
  // A proxy may hide that the client uses HTTPS.
  const url = isPublic && set.public_url !== null ? set.public_url : called;
  return { url, pin: pinFor(networkView(deps), url) };
}

/**
 * Returns the URLs that other machines can use, and the pin of the certificate; the pin is null unless the orchestrator created
 * the certificate itself.
 */
export const reachFromAfar = (network: Network, identity: Identity | null) => ({
  reachableAt: network.listening().filter(each => !isLoopback(new URL(each).hostname)),
  pin: network.isSecure && identity?.source === 'own' ? identity.pin : null,
});
