import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { createSeal, openAudit } from './audit/index.ts';
import type { ServerConfig } from './config.ts';
import { openHeadFile } from './host/audit-head.ts';
import { announce, type DataFolder, makeFolder, openDataFolder } from './host/data-folder.ts';
import { certificateNames, createOwnNames } from './host/own-names.ts';
import { tellExposed } from './host/exposure.ts';
import { findPanel } from './host/panel-folder.ts';
import { isLoopback, type MachineAddress, ownAddresses } from './host/addresses.ts';
import { type AgentProgram, startLocalWorker } from './host/local-worker.ts';
import { workerNameOf } from './host/local-worker-plan.ts';
import { createLocalWorkerSwitch } from './host/local-worker-switch.ts';
import { createNetwork, type Network } from './host/network.ts';
import { createSettings } from './host/settings.ts';
import { inForce, localWorkerInForce } from './host/settings-fixed.ts';
import { openSettingsFile, type SettingsFile } from './host/settings-file.ts';
import { type Certificates, createCertificates } from './host/tls/index.ts';
import type { SocketLimits } from './http/door.ts';
import type { FailureLimit } from './http/failure-limit.ts';
import { createHttpServer, type HttpServer } from './http/server.ts';
import { createOrchestrator, type Orchestrator } from './orchestrator/index.ts';
import type { RequestLog } from './http/requests.ts';
import type { Clock, Ids, Log } from './orchestrator/ports.ts';
import { createConfigFiles } from './store/config-files.ts';
import { type DataStore, openDataStore } from './store/data-store.ts';
import { lockFolder } from './store/folder-lock.ts';
import { version } from '../protocol/version.ts';

export { findDamage } from './store/file-check.ts';
export { FolderInUse, holderOf } from './store/folder-lock.ts';

export interface Composed {
  readonly orchestrator: Orchestrator;
  readonly url: string;
  /** What signs a browser in on the panel, once; null without a panel. */
  readonly signInPath: (() => string) | null;
  readonly adminTokenFile: string;
  readonly adminToken: string;
  /** Not null when the database was damaged and a backup has taken its place: people must be told. */
  readonly restored: DataStore['restored'];
  /** Where other machines reach it, if they are to. */
  readonly reachableAt: readonly string[];
  /** Of the key that they meet there; null without a certificate of its own. */
  readonly pin: string | null;
  /** Ends the local worker, streams and calls, then closes the store. What workers run goes on, here, too. */
  close(): Promise<void>;
}

export interface Surroundings {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: RequestLog;
  /** Leaves a line in it for each request; else not. */
  readonly logRequests?: boolean;
  /** What the worker on this machine is started with, if there is to be one. */
  readonly agent: AgentProgram & {
    /** Whether it can run the sample training. */
    readonly hasSample: boolean;
  };
  /** Of this machine, as they are now; the system's own unless told. */
  readonly addresses?: () => readonly MachineAddress[];
  /** How long callers may take; left out, as `main/http/door` has it. */
  readonly socketLimits?: SocketLimits;
  /** Of calls without a valid token; left out, as docs/access.md has it. */
  readonly failureLimit?: FailureLimit;
  /** The disk has failed: ends the process at once, because nobody may be answered any more. */
  readonly onFatal: () => void;
}

/**
 * The composition root: every part is made here and nowhere else. Throws with a reason when it can't start; `FolderInUse`
 * when another orchestrator works on the data folder.
 */
export async function compose(config: ServerConfig, parts: Surroundings): Promise<Composed> {
  makeFolder(config.dataDir);
  const lock = lockFolder(config.dataDir, parts.clock.iso(parts.clock.wall()));
  try {
    const composed = await composeParts(config, parts);
    return {
      ...composed,
      async close() {
        await composed.close();
        lock.release();
      },
    };
  } catch (cause) {
    lock.release();
    throw cause;
  }
}

/** A disk that is full now may have room later: the orchestrator runs, and is found by its address. */
function announceOrWarn(dataDir: string, url: string, log: Log): () => void {
  try {
    return announce(dataDir, url);
  } catch (cause) {
    log.warn('server.not_announced', { cause, note: 'the command line needs --url to find it' });
    return () => undefined;
  }
}

interface SetParts {
  readonly config: ServerConfig;
  readonly parts: Surroundings;
  readonly file: SettingsFile;
  readonly network: Network;
  readonly certificates: Certificates;
  readonly orchestrator: Orchestrator;
}

/** What people set while it runs. */
function createSet({ config, parts, file, network, certificates, orchestrator }: SetParts) {
  const localWorker = createLocalWorkerSwitch(settings =>
    startLocalWorker({
      ...parts,
      program: parts.agent,
      settings,
      folder: join(config.dataDir, 'local-worker'),
      url: network.url,
      issue: () => orchestrator.localWorker(workerNameOf(hostname())),
    }),
  );
  const settings = createSettings({
    file,
    given: config,
    network,
    addresses: parts.addresses ?? ownAddresses,
    identity: () => certificates.shown,
    openCertificate: certificates.open,
    refreshCertificate: certificates.refresh,
    localWorker,
    orchestrator,
    about: {
      version,
      configs_dir: resolve(config.configsDir),
      data_dir: resolve(config.dataDir),
      hasSample: parts.agent.hasSample,
    },
  });
  return { localWorker, settings };
}

/** What is stored, and what vouches for its trail. */
async function openStore(folder: DataFolder, retentionDays: number | null, parts: Surroundings) {
  const seal = createSeal(folder.auditKey);
  const opened = openDataStore(folder.databaseFile, { ...parts, seal });
  const audit = await openAudit({
    ...parts,
    store: opened.store,
    seal,
    key: folder.auditKey,
    headFile: openHeadFile(folder.auditHeadFile),
    isRestored: opened.restored !== null,
    retentionDays,
  });
  return { ...opened, audit };
}

/** Of the address that people gave it, if they did. */
const hostsOf = (url: string | null): readonly string[] =>
  url === null ? [] : [new URL(url).hostname.replace(/^\[|\]$/g, '')];

interface ReachParts extends Pick<SetParts, 'config' | 'parts' | 'file' | 'orchestrator'> {
  /** By which it is called beside those that the machine has by itself. */
  readonly otherNames: () => readonly string[];
  /** Made later than this, and asked for when sockets are opened. */
  readonly http: () => HttpServer;
}

/** Where it is to be reached, and what it shows there. */
function createReach({ config, parts, file, orchestrator, otherNames, http }: ReachParts) {
  const { clock, log, addresses = ownAddresses } = parts;
  const network = createNetwork({
    listen: (host, port, isSecure) => http().listen(host, port, isSecure),
    addresses,
    clock,
    log,
    port: config.port,
    fixedHost: config.fixedBy.host === undefined ? null : config.host,
    reach: { host: file.settings.host, isSecure: inForce(config, file.settings).tls },
    onExposed: tellExposed(orchestrator, log),
  });
  const certificates = createCertificates({
    files: config.certificateFiles,
    folder: join(config.dataDir, 'tls'),
    names: () => certificateNames(addresses(), [...otherNames(), network.host]),
    clock,
    log,
    orchestrator,
    present: ({ key, certificate }) => http().present({ key, certificate }),
  });
  return { network, certificates };
}

async function composeParts(config: ServerConfig, parts: Surroundings): Promise<Composed> {
  const { log, clock, addresses = ownAddresses } = parts;
  const folder = openDataFolder(config.dataDir);
  makeFolder(config.configsDir);
  const file = openSettingsFile(folder.settingsFile);
  const { store, restored, backups, audit } = await openStore(folder, config.auditRetentionDays, parts);
  const configs = createConfigFiles(config.configsDir);
  const worker = localWorkerInForce(config, file.settings);
  const runsLocally = worker !== null;
  const orchestrator = createOrchestrator({ ...parts, ...config, store, configs, runsLocally });
  const otherNames = () => [...config.allowHosts, ...hostsOf(file.settings.public_url)];
  const reached = { config, parts, file, orchestrator, otherNames, http: () => http };
  const { network, certificates } = createReach(reached);
  const { localWorker, settings } = createSet({ config, parts, file, network, certificates, orchestrator });
  const panelDir = findPanel();
  const http = createHttpServer({
    orchestrator,
    audit: audit.book,
    backups,
    settings,
    configs,
    adminToken: folder.adminToken,
    log,
    logRequests: parts.logRequests ?? false,
    version,
    panelDir,
    mono: clock.mono,
    isOurHost: createOwnNames({
      mono: clock.mono,
      addresses,
      others: otherNames,
    }),
    failureLimit: parts.failureLimit,
    socketLimits: parts.socketLimits,
  });
  const close = async (): Promise<void> => {
    network.stop();
    certificates.stop();
    // First, so that it can still say goodbye.
    await localWorker.close();
    orchestrator.stop();
    await http.close();
    await audit.stop();
    await store.close();
  };
  try {
    orchestrator.start();
    if (network.isSecure) await certificates.open();
    await network.open();
    const { url } = network;
    const withdraw = announceOrWarn(config.dataDir, url, log);
    await localWorker.turn(worker);
    return {
      orchestrator,
      url,
      signInPath: panelDir === null ? null : http.signInPath,
      adminTokenFile: folder.adminTokenFile,
      adminToken: folder.adminToken,
      restored,
      get reachableAt() {
        return network.listening().filter(each => !isLoopback(new URL(each).hostname));
      },
      get pin() {
        const { shown } = certificates;
        return network.isSecure && shown?.source === 'own' ? shown.pin : null;
      },
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
