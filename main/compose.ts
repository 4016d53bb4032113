import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { type Audit, createSeal, openAudit } from './audit/index.ts';
import type { ServerConfig } from './config.ts';
import { createAdminToken } from './host/admin-token.ts';
import { openHeadFile } from './host/audit-head.ts';
import {
  announceOrWarn,
  databaseFileIn,
  type DataFolder,
  makeFolder,
  openDataFolder,
} from './host/data-folder.ts';
import { type BootReading, keepTime, systemBoot } from './host/kept-time.ts';
import { createOwnNames, namesGiven } from './host/own-names.ts';
import { findPanel } from './host/panel-folder.ts';
import { type MachineAddress, ownAddresses } from './host/addresses.ts';
import { type AgentProgram, startLocalWorker } from './host/local-worker.ts';
import { workerNameOf } from './host/local-worker-plan.ts';
import { createLocalWorkerSwitch } from './host/local-worker-switch.ts';
import type { Network } from './host/network.ts';
import { reachFromAfar } from './host/network-view.ts';
import { createReach } from './host/reach.ts';
import { createWitness } from './host/witnesses.ts';
import { createWorkerPrograms, findWorkerPrograms } from './host/worker-programs.ts';
import { createRestoration, type Restoration } from './host/restoration.ts';
import { createSettings } from './host/settings.ts';
import { auditDaysInForce, localWorkerInForce, publicUrlInForce } from './host/settings-fixed.ts';
import { createUploadTokens } from './host/upload-tokens.ts';
import { openSettingsFile, type SettingsFile } from './host/settings-file.ts';
import type { Certificates } from './host/tls/index.ts';
import { hashOf } from './http/auth/auth.ts';
import type { SocketLimits } from './http/listener/http-listener.ts';
import type { BackupDesk } from './http/routes/backup-routes.ts';
import type { FailureLimit } from './http/auth/failure-limit.ts';
import { createHttpServer, type HttpDeps, type HttpServer } from './http/server.ts';
import { createOrchestrator, type Orchestrator } from './orchestrator/index.ts';
import type { RequestLog } from './http/listener/requests.ts';
import type { Clock, Ids, TrustedTime } from './orchestrator/ports/index.ts';
import { createArtifactFiles } from './store/artifacts/artifact-files.ts';
import { createContentFiles } from '../datasets/content-files.ts';
import { createLocks } from '../datasets/locks.ts';
import { type ContentSweep, startContentSweep } from './store/artifacts/content-sweep.ts';
import { startArtifactSweep } from './store/artifacts/artifact-sweep.ts';
import { createConfigFiles } from './store/configs/config-files.ts';
import { createLogFiles, type OpenLogFiles } from './store/logs/log-files.ts';
import { type LogSweep, startLogSweep } from './store/logs/log-sweep.ts';
import { type DataStore, type KeptBackup, openDataStore, type Replacement } from './store/data-store.ts';
import { lockFolder } from './store/db/folder-lock.ts';
import { createProver } from './server-proof.ts';
import { version } from '../protocol/version.ts';

export { findDamage } from './store/db/file-check.ts';
export { FolderInUse, holderOf } from './store/db/folder-lock.ts';

export interface Composed {
  readonly url: string;
  /** Returns a one-time path that signs a browser in to the panel; null without a panel. */
  readonly signInPath: (() => string) | null;
  readonly adminTokenFile: string;
  /** Returns the currently valid token. */
  readonly adminToken: () => string;
  /** Not null when a backup replaced a damaged database; the user must be notified. */
  readonly restored: (NonNullable<DataStore['restored']> & { readonly lostRows: Audit['lost'] }) | null;
  /** URLs under which other machines reach the server; empty when it is not shared. */
  readonly reachableAt: readonly string[];
  /** Pin of the certificate that other machines see; null unless the orchestrator made the certificate itself. */
  readonly pin: string | null;
  /** Call it after the machine wakes from sleep. */
  awoken(): void;
  /**
   * Stops the local worker, closes streams and connections, then the store. Trainers on all workers keep running, including those
   * of the local worker.
   */
  close(): Promise<void>;
}

export interface Surroundings {
  readonly clock: Clock;
  /** Reads the boot of a machine; defaults to this machine. */
  readonly boot?: () => BootReading;
  readonly ids: Ids;
  readonly log: RequestLog;
  /** Logs one line per request when true. */
  readonly logRequests?: boolean;
  /** The agent program for the worker on this machine. */
  readonly agent: AgentProgram & {
    /** Whether the program can run the sample training. */
    readonly hasSample: boolean;
  };
  /** Folder of the built worker programs for rigs to download; null for none. Searched for when absent. */
  readonly workerPrograms?: string | null;
  /** Current addresses of this machine; defaults to those of the operating system. */
  readonly addresses?: () => readonly MachineAddress[];
  /** Time limits for clients; default in `main/http/door`. */
  readonly socketLimits?: SocketLimits;
  /** Limits for downloads of the worker program; default in `main/http/routes/downloads`. */
  readonly downloadLimits?: HttpDeps['downloadLimits'];
  /** Minimum pace of uploads; default in `main/http/uploads/receive-body`. */
  readonly uploadPace?: HttpDeps['artifacts']['pace'];
  /** Limit on calls without a valid token; default in docs/access.md. */
  readonly failureLimit?: FailureLimit;
  /** Called when the disk has failed. Must exit the process at once: no further request may be answered. */
  readonly onFatal: () => void;
}

/** Dependencies, plus the trusted time that outlives the process. */
type Timed = Surroundings & { readonly time: TrustedTime };

/**
 * Composition root: creates every part of the server. Throws with a reason when the server cannot start, and `FolderInUse` when
 * another orchestrator uses the data folder.
 */
export async function compose(config: ServerConfig, parts: Surroundings): Promise<Composed> {
  makeFolder(config.dataDir);
  const lock = lockFolder(config.dataDir, parts.clock.iso(parts.clock.wall()));
  const time = keepTime({
    ...parts,
    boot: parts.boot ?? systemBoot,
    file: join(config.dataDir, 'clock'),
    database: databaseFileIn(config.dataDir),
    isTrusted: config.trustClock,
  });
  const release = (): void => {
    time.stop();
    lock.release();
  };
  try {
    const composed = await composeParts(config, { ...parts, time });
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

interface SetDeps {
  readonly config: ServerConfig;
  readonly parts: Timed;
  readonly file: SettingsFile;
  readonly network: Network;
  readonly certificates: Certificates;
  readonly orchestrator: Orchestrator;
  readonly audit: Audit;
}

/** Settings that users change at runtime. */
function createSet({ config, parts, file, network, certificates, orchestrator, audit }: SetDeps) {
  const localWorker = createLocalWorkerSwitch(settings =>
    startLocalWorker({
      ...parts,
      program: parts.agent,
      settings,
      allowConfigScripts: config.localAllowConfigScripts,
      folder: join(config.dataDir, 'local-worker'),
      url: network.url,
      issue: () => orchestrator.workers.local(workerNameOf(hostname())),
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
    keepAuditFor: audit.keepFor,
    about: {
      version,
      configs_dir: config.configsDir,
      data_dir: config.dataDir,
      hasSample: parts.agent.hasSample,
    },
  });
  return { localWorker, settings };
}

/** Opens the store and the audit of its trail. */
async function openStore(
  folder: DataFolder,
  retentionDays: number | null,
  targets: readonly string[],
  parts: Timed,
) {
  const seal = createSeal(folder.auditKey);
  const opened = openDataStore(folder.databaseFile, { ...parts, seal });
  const audit = await openAudit({
    ...parts,
    store: opened.store,
    seal,
    key: folder.auditKey,
    headFile: openHeadFile(folder.auditHeadFile),
    witnesses: targets.map(createWitness),
    isRestored: opened.restored !== null,
    retentionDays,
  });
  return { ...opened, audit };
}

/** Dependencies that outlive the database; a restore does not touch them. */
interface Ground {
  readonly config: ServerConfig;
  readonly parts: Timed;
  readonly folder: DataFolder;
  /** Returns the SHA-256 of the currently valid admin token. */
  readonly adminHash: () => Buffer;
  readonly file: SettingsFile;
  readonly network: Network;
  readonly certificates: Certificates;
  readonly panelDir: string | null;
  readonly programs: HttpDeps['programs'];
  readonly isOurHost: HttpDeps['isOurHost'];
  readonly restore: BackupDesk['restore'];
}

/** Everything that uses one database, from opening it to closing it. */
interface Works {
  readonly orchestrator: Orchestrator;
  readonly audit: Audit;
  readonly data: DataStore;
  readonly http: HttpDeps;
  /** Call it once the HTTP server serves this scope. */
  startLocalWorker(): Promise<void>;
  readonly localWorker: ReturnType<typeof createSet>['localWorker'];
  readonly sweep: ReturnType<typeof startArtifactSweep>;
  readonly logs: { readonly files: OpenLogFiles; readonly sweep: LogSweep };
  readonly contentSweep: ContentSweep;
}

/** Opens the trainer logs, which are files beside the database. */
function openLogs(
  { dataDir, logs, storage }: ServerConfig,
  parts: Timed,
  store: DataStore['store'],
): Works['logs'] {
  const { perAttempt, retentionDays } = logs;
  const folder = join(dataDir, 'logs');
  const files = createLogFiles({ ...parts, folder, perAttempt, reserve: storage.reserve });
  return { files, sweep: startLogSweep({ ...parts, store, files, days: retentionDays }) };
}

/** Opens the files of datasets, which jobs share. */
function openContents({ dataDir }: ServerConfig) {
  const folder = join(dataDir, 'contents');
  makeFolder(folder);
  return { folder, files: createContentFiles(folder), locks: createLocks() };
}

async function openWorks(ground: Ground): Promise<Works> {
  const { config, parts, folder, adminHash, file, panelDir, programs, isOurHost, restore } = ground;
  const { audit, ...data } = await openStore(
    folder,
    auditDaysInForce(config, file.settings),
    config.auditWitnesses,
    parts,
  );
  const configs = createConfigFiles(config.configsDir);
  const worker = localWorkerInForce(config, file.settings);
  const runsLocally = worker !== null;
  const uploadTokens = createUploadTokens(folder.auditKey);
  const files = createArtifactFiles(join(config.dataDir, 'artifacts'));
  const logs = openLogs(config, parts, data.store);
  const contents = openContents(config);
  const orchestrator = createOrchestrator({
    ...parts,
    ...config,
    store: data.store,
    configs,
    runsLocally,
    holdingBack: file.settings.gpu_troubles,
    uploadTokenOf: uploadTokens.of,
    adminHash: () => adminHash().toString('hex'),
    onFilesDropped() {
      sweep.soon();
      contentSweep.soon();
    },
    logFiles: logs.files,
  });
  const releaseUploads = orchestrator.files.releaseClosedUploads;
  const sweep = startArtifactSweep({ ...parts, store: data.store, files, releaseUploads });
  const collect = orchestrator.files.collectDatasets;
  const contentSweep = startContentSweep({ ...parts, ...contents, store: data.store, collect });
  const { localWorker, settings } = createSet({ ...ground, orchestrator, audit });
  return {
    orchestrator,
    audit,
    data,
    localWorker,
    sweep,
    logs,
    contentSweep,
    startLocalWorker: () => localWorker.turn(worker),
    http: {
      orchestrator,
      audit: audit.book,
      backups: { ...data.backups, restore },
      settings,
      configs,
      artifacts: {
        files,
        reserveBytes: config.storage.reserve,
        uploaderOf: uploadTokens.read,
        pace: parts.uploadPace,
      },
      contents,
      logFiles: logs.files,
      adminHash,
      prove: createProver(folder.auditKey),
      log: parts.log,
      logRequests: parts.logRequests ?? false,
      version,
      panelDir,
      programs,
      mono: parts.clock.mono,
      isOurHost,
      trustedProxies: config.trustedProxies,
      failureLimit: parts.failureLimit,
      socketLimits: parts.socketLimits,
      downloadLimits: parts.downloadLimits,
    },
  };
}

async function closeWorks(works: Works, http: HttpServer): Promise<void> {
  // Stop the local worker first, so that it can still report that it goes offline.
  await works.localWorker.close();
  works.orchestrator.lifecycle.stop();
  await http.close();
  await closeFiles(works);
  await works.audit.stop();
  await works.data.store.close();
}

/** Closes the files beside the database. */
async function closeFiles({ sweep, logs, contentSweep }: Works): Promise<void> {
  await sweep.stop();
  await contentSweep.stop();
  await logs.sweep.stop();
  await logs.files.close();
}

interface Exchange {
  readonly ground: Ground;
  works(): Works;
  setWorks(works: Works): void;
  readonly http: ReturnType<typeof createHttpServer>;
}

/** Replaces the current database by a backup while the sockets and the folder lock stay open. */
function createExchange({
  ground,
  works,
  setWorks,
  http,
}: Exchange): Restoration<KeptBackup, IncomingMessage> {
  const { clock, log, onFatal } = ground.parts;
  let trail: ReturnType<Audit['account']> | null = null;
  return createRestoration<KeptBackup, Replacement, IncomingMessage>(
    {
      prepare: name => works().data.prepare(name),
      async quiet(asker) {
        // Stop the local worker first, so that it can still report that it goes offline.
        await works().localWorker.close();
        works().orchestrator.lifecycle.stop();
        await http.hold(asker);
        await closeFiles(works());
        await works().audit.stop();
        // Readable only while the store is open.
        trail = works().audit.account();
      },
      save: () => works().data.backups.make('before-restore'),
      close: () => works().data.store.close(),
      sign: ({ sign, backup }, saved, actor) =>
        sign(had => ({
          at: clock.wall(),
          type: 'audit.restored',
          actor,
          target: { type: 'audit', id: 'audit' },
          details: {
            backup: backup.name,
            backup_at: clock.iso(backup.at),
            // Rows after this one describe changes that the restore has undone.
            backup_row: had,
            saved: saved.name,
            newest: trail?.was?.seq ?? 0,
            ...trail,
          },
        })),
      async reopen() {
        try {
          setWorks(await openWorks(ground));
          works().orchestrator.lifecycle.start();
        } catch (cause) {
          // The replacement was checked before, so only a restart can help; the log explains why.
          log.error('restore.not_opened', { cause });
          onFatal();
          throw cause;
        }
        http.serve(works().http);
        await works().startLocalWorker();
      },
    },
    log,
  );
}

function endAdminSessions({ orchestrator }: Works, http: HttpServer): void {
  orchestrator.access.endReplacedAdminSessions();
  http.recheck();
}

async function composeParts(config: ServerConfig, parts: Timed): Promise<Composed> {
  const { clock, log, addresses = ownAddresses } = parts;
  const folder = openDataFolder(config.dataDir);
  makeFolder(config.configsDir);
  const file = openSettingsFile(folder.settingsFile);
  const onReplaced = (): void => endAdminSessions(works, http);
  const adminToken = createAdminToken({ folder, hashOf, clock, log, onReplaced });
  const otherNames = () =>
    namesGiven(config.allowHosts, publicUrlInForce(config, file.settings), certificates.shown);
  const { network, certificates } = createReach({
    given: config,
    settings: file.settings,
    addresses,
    otherNames,
    listen: (host, port, isSecure) => http.listen(host, port, isSecure),
    present: ({ key, certificate }) => http.present({ key, certificate }),
    clock,
    log,
    orchestrator: {
      access: { noteSettings: (facts, by) => works.orchestrator.access.noteSettings(facts, by) },
    },
  });
  const ground: Ground = {
    config,
    parts,
    folder,
    adminHash: adminToken.hash,
    file,
    network,
    certificates,
    panelDir: findPanel(),
    programs: createWorkerPrograms(() =>
      parts.workerPrograms === undefined ? findWorkerPrograms() : parts.workerPrograms,
    ),
    isOurHost: createOwnNames({ mono: clock.mono, addresses, others: otherNames }),
    restore: (name, by, asker) => restoration.restore(name, by, asker),
  };
  let works = await openWorks(ground);
  const http = createHttpServer(works.http);
  const restoration = createExchange({
    ground,
    http,
    works: () => works,
    setWorks(next) {
      works = next;
    },
  });
  const close = async (): Promise<void> => {
    await restoration.idle();
    adminToken.stop();
    network.stop();
    certificates.stop();
    await closeWorks(works, http);
  };
  try {
    adminToken.follow();
    works.orchestrator.lifecycle.start();
    if (network.isSecure) await certificates.open();
    await network.open();
    const { url } = network;
    const withdraw = announceOrWarn(config.dataDir, url, log);
    await works.startLocalWorker();
    return {
      url,
      signInPath: ground.panelDir === null ? null : http.signInPath,
      adminTokenFile: folder.adminTokenFile,
      adminToken: adminToken.now,
      restored: works.data.restored && { ...works.data.restored, lostRows: works.audit.lost },
      ...reachFromAfar(network, certificates.shown),
      awoken: () => works.orchestrator.lifecycle.awoken(),
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
