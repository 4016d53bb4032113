import { join } from 'node:path';
import type { Orchestrator } from '../orchestrator/index.ts';
import type { Clock, Log } from '../orchestrator/ports/index.ts';
import type { MachineAddress } from './addresses.ts';
import { createNetwork, type NetworkDeps } from './network.ts';
import { certificateNames } from './own-names.ts';
import { type Given, inForce } from './settings-fixed.ts';
import { createCertificates, type TlsDeps } from './tls/index.ts';

/** Warns in the log and in the audit trail that other machines connect without encryption. */
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

export interface ReachDeps {
  readonly given: Given & {
    readonly port: number;
    readonly dataDir: string;
    readonly certificateFiles: TlsDeps['files'];
  };
  readonly settings: Parameters<typeof inForce>[1];
  readonly addresses: () => readonly MachineAddress[];
  /** Names of the machine that it cannot detect itself. */
  readonly otherNames: () => readonly string[];
  readonly listen: NetworkDeps['listen'];
  readonly present: TlsDeps['present'];
  readonly clock: Clock;
  readonly log: Log;
  readonly orchestrator: { readonly access: Pick<Orchestrator['access'], 'noteSettings'> };
}

/** Creates the network and the certificates that it presents. */
export function createNetworkAccess(parts: ReachDeps) {
  const { given, settings, addresses, otherNames, listen, present, clock, log, orchestrator } = parts;
  const network = createNetwork({
    listen,
    addresses,
    clock,
    log,
    port: given.port,
    fixedHost: given.fixedBy.host === undefined ? null : given.host,
    reach: { host: settings.host, isSecure: inForce(given, settings).tls },
    onExposed: warnExposed(orchestrator, log),
  });
  const certificates = createCertificates({
    files: given.certificateFiles,
    folder: join(given.dataDir, 'tls'),
    names: () => certificateNames(addresses(), [...otherNames(), network.host]),
    clock,
    log,
    orchestrator,
    present,
  });
  return { network, certificates };
}
