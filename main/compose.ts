import { join } from 'node:path';
import type { Audit } from './audit/index.ts';
import type { ServerConfig } from './config.ts';
import { createAdminToken } from './host/tokens.ts';
import { announceOrWarn, databaseFileIn, makeFolder, openDataFolder } from './host/data-folder.ts';
import { createSystemBoot, keepTime } from './host/kept-time.ts';
import { createOwnNames, namesGiven } from './host/own-names.ts';
import { ownAddresses } from './host/addresses.ts';
import { reachFromAfar, createNetworkAccess } from './host/network-access.ts';
import { version } from '../protocol/version.ts';
import {
  createOfferedBook,
  createWorkerPrograms,
  findWorkerPrograms,
  findPanel,
} from './host/built-files.ts';
import { openSettingsFile, effectivePublicUrl } from './host/settings-sources.ts';
import { hashOf } from './http/auth/auth.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import type { DataStore } from './store/data-store.ts';
import { lockFolder } from './store/db/folder-lock.ts';
import type { ComposeDeps, TimedDeps, AppContext } from './compose/deps.ts';
import { type DatabaseScope, openScope, closeScope } from './compose/database-scope.ts';
import { createRestore } from './compose/restore.ts';

export { findDamage } from './store/db/file-check.ts';
export { FolderInUse, holderOf } from './store/db/folder-lock.ts';

export interface Composed {
  readonly url: string;
  /** Returns a one-time path that signs a browser in to the panel; null without a panel. */
  readonly signInPath: (() => string) | null;
  readonly adminTokenFile: string;
  /** Returns the token that is valid now. */
  readonly adminToken: () => string;
  /** Not null if a backup replaced a damaged database. The caller must then notify the user. */
  readonly restored: (NonNullable<DataStore['restored']> & { readonly lostRows: Audit['lost'] }) | null;
  /** URLs under which other machines reach the server; empty when it is not shared. */
  readonly reachableAt: readonly string[];
  /** Pin of the certificate for other machines; null unless the orchestrator created the certificate itself. */
  readonly pin: string | null;
  /** Call it after the machine wakes up. */
  noteWake(): void;
  /**
   * Stops the local worker, then closes connections and the store. Trainers on all workers keep running, including the trainer of
   * the local worker.
   */
  close(): Promise<void>;
}

/**
 * Composition root: creates all parts of the server and starts it. Rejects with a reason when the server cannot start, and with
 * `FolderInUse` when another orchestrator uses the data folder.
 */
export async function compose(config: ServerConfig, deps: ComposeDeps): Promise<Composed> {
  makeFolder(config.dataDir);
  const lock = lockFolder(config.dataDir, deps.clock.iso(deps.clock.wall()));
  const time = keepTime({
    ...deps,
    boot: deps.boot ?? createSystemBoot(deps.clock),
    file: join(config.dataDir, 'clock'),
    database: databaseFileIn(config.dataDir),
    isTrusted: config.trustClock,
  });
  const release = (): void => {
    time.stop();
    lock.release();
  };
  try {
    const composed = await composeWith(config, { ...deps, time });
    return {
      ...composed,
      async close() {
        await composed.close();
        release();
      },
    };
  } catch (cause) {
    release();
    throw cause;
  }
}

function endAdminSessions({ orchestrator }: DatabaseScope, http: HttpServer): void {
  orchestrator.access.endReplacedAdminSessions();
  http.recheck();
}

function openPrograms({ workerPrograms, clock }: TimedDeps): Pick<AppContext, 'programs' | 'offered'> {
  const find = () => (workerPrograms === undefined ? findWorkerPrograms() : workerPrograms);
  const programs = createWorkerPrograms(find);
  return { programs, offered: createOfferedBook(programs, version, clock.mono) };
}

async function composeWith(config: ServerConfig, deps: TimedDeps): Promise<Composed> {
  const { clock, log, addresses = ownAddresses } = deps;
  const folder = openDataFolder(config.dataDir);
  makeFolder(config.configsDir);
  const file = openSettingsFile(folder.settingsFile);
  const onReplaced = (): void => endAdminSessions(scope, http);
  const adminToken = createAdminToken({ folder, hashOf, clock, log, onReplaced });
  const otherNames = () =>
    namesGiven(config.allowHosts, effectivePublicUrl(config, file.settings), certificates.shown);
  const { network, certificates } = createNetworkAccess({
    given: config,
    settings: file.settings,
    addresses,
    otherNames,
    listen: (host, port, isSecure) => http.listen(host, port, isSecure),
    setCertificate: ({ key, certificate }) => http.setCertificate({ key, certificate }),
    clock,
    log,
    orchestrator: {
      access: { noteSettings: (facts, by) => scope.orchestrator.access.noteSettings(facts, by) },
    },
  });
  const context: AppContext = {
    config,
    deps,
    folder,
    adminHash: adminToken.hash,
    file,
    network,
    certificates,
    panelDir: findPanel(),
    ...openPrograms(deps),
    isOurHost: createOwnNames({ mono: clock.mono, addresses, others: otherNames }),
    restore: (name, by, request) => restoration.restore(name, by, request),
  };
  let scope = await openScope(context);
  const http = createHttpServer(scope.http);
  const restoration = createRestore({
    context,
    http,
    scope: () => scope,
    setScope(next) {
      scope = next;
    },
  });
  const close = async (): Promise<void> => {
    await restoration.idle();
    adminToken.stop();
    network.stop();
    certificates.stop();
    await closeScope(scope, http);
  };
  try {
    adminToken.follow();
    scope.orchestrator.lifecycle.start();
    if (network.isSecure) await certificates.open();
    await network.open();
    const { url } = network;
    const withdraw = announceOrWarn(config.dataDir, url, log);
    await scope.startLocalWorker();
    return {
      url,
      signInPath: context.panelDir === null ? null : http.signInPath,
      adminTokenFile: folder.adminTokenFile,
      adminToken: adminToken.now,
      restored: scope.data.restored && { ...scope.data.restored, lostRows: scope.audit.lost },
      ...reachFromAfar(network, certificates.shown),
      noteWake: () => scope.orchestrator.lifecycle.noteWake(),
      async close() {
        withdraw();
        await close();
      },
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}
