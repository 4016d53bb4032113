import { join } from 'node:path';
import { type Audit, createSeal, openAudit } from '../audit/index.ts';
import type { ServerConfig } from '../config.ts';

import { type DataFolder, makeFolder } from '../host/data-folder.ts';
import { createWitness, openHeadFile } from '../host/audit-marks.ts';
import { effectiveAuditDays, effectiveLocalWorker } from '../host/settings-sources.ts';
import { createUploadTokens, fleetIdOf } from '../host/tokens.ts';
import { createEngines, type EnginesDeps } from '../engines/index.ts';
import { createCourier, type CourierDeps } from '../notify/index.ts';
import { createRunProgram } from '../engines/run-program.ts';
import { scriptHash } from '../http/routes/agent-routes.ts';
import type { HttpDeps, HttpServer } from '../http/server.ts';
import { createOrchestrator, type Orchestrator } from '../orchestrator/index.ts';
import type { Courier, EngineOf } from '../orchestrator/ports/index.ts';
import { createArtifactFiles } from '../store/artifacts/artifact-files.ts';
import { createContentFiles, createLocks } from '../../datasets/content-files.ts';
import { type ContentSweep, startContentSweep } from '../store/artifacts/content-sweep.ts';
import { startArtifactSweep } from '../store/artifacts/artifact-sweep.ts';
import { createLogFiles, type OpenLogFiles } from '../store/logs/log-files.ts';
import { type LogSweep, startLogSweep } from '../store/logs/log-sweep.ts';
import { type DataStore, openDataStore } from '../store/data-store.ts';
import { createProver } from '../server-proof.ts';
import { version } from '../../protocol/version.ts';
import type { TimedDeps, AppContext } from './deps.ts';
import { createRuntimeSettings } from './runtime-settings.ts';
import { createConfigFiles } from '../store/configs/config-files.ts';

/** All parts that use one database, from opening it to closing it. */
export interface DatabaseScope {
  readonly orchestrator: Orchestrator;
  readonly audit: Audit;
  readonly data: DataStore;
  readonly http: HttpDeps;
  /** Call it after the HTTP server has started to serve this scope. */
  startLocalWorker(): Promise<void>;
  readonly localWorker: ReturnType<typeof createRuntimeSettings>['localWorker'];
  readonly sweep: ReturnType<typeof startArtifactSweep>;
  readonly logs: { readonly files: OpenLogFiles; readonly sweep: LogSweep };
  readonly contentSweep: ContentSweep;
}

/** Opens the trainer logs, which are files beside the database. */
function openLogs(
  { dataDir, logs, storage }: ServerConfig,
  deps: TimedDeps,
  store: DataStore['store'],
): DatabaseScope['logs'] {
  const { perAttempt, retentionDays } = logs;
  const folder = join(dataDir, 'logs');
  const files = createLogFiles({ ...deps, folder, perAttempt, reserve: storage.reserve });
  return { files, sweep: startLogSweep({ ...deps, store, files, days: retentionDays }) };
}

/** Opens the contents of datasets, which are files that several jobs may share. */
function openContents({ dataDir }: ServerConfig) {
  const folder = join(dataDir, 'contents');
  makeFolder(folder);
  return { folder, files: createContentFiles(folder), locks: createLocks() };
}

/** Opens the engines of pools. Their programs get the environment of this process. */
function openEngines(
  { config, deps, folder, programs }: AppContext,
  { fleetId }: DataStore['store'],
  address: EnginesDeps['address'],
): EngineOf {
  return createEngines({
    fleetId: () => fleetIdOf(folder.auditKey, fleetId()),
    folder: join(config.dataDir, 'engines'),
    address,
    installHash: () => scriptHash({ programs, version }),
    run: createRunProgram(deps.agent.env),
  });
}

/** Creates the courier, which delivers notifications. */
function openCourier(
  { config, deps }: AppContext,
  files: CourierDeps['files'],
  store: DataStore['store'],
  address: () => string,
): Courier {
  const { notifyAllow: allowed, storage } = config;
  return createCourier({
    clock: deps.clock,
    files,
    reserveBytes: storage.reserve,
    allowed,
    address,
    pushKeys: () => store.pushKeys(),
  });
}

/** Opens the database and its audit trail. */
async function openStore(
  folder: DataFolder,
  retentionDays: number | null,
  targets: readonly string[],
  deps: TimedDeps,
) {
  const seal = createSeal(folder.auditKey);
  const opened = openDataStore(folder.databaseFile, { ...deps, seal });
  const audit = await openAudit({
    ...deps,
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

/** Opens everything that uses the database. */
export async function openScope(context: AppContext): Promise<DatabaseScope> {
  const { config, deps, folder, adminHash, file, network, panelDir, programs, isOurHost, restore } = context;
  const { audit, ...data } = await openStore(
    folder,
    effectiveAuditDays(config, file.settings),
    config.auditWitnesses,
    deps,
  );
  const configs = createConfigFiles(config.configsDir);
  const worker = effectiveLocalWorker(config, file.settings);
  const runsLocally = worker !== null;
  const uploadTokens = createUploadTokens(folder.auditKey);
  const files = createArtifactFiles(join(config.dataDir, 'artifacts'));
  const logs = openLogs(config, deps, data.store);
  const contents = openContents(config);
  const orchestrator = createOrchestrator({
    ...deps,
    ...config,
    store: data.store,
    configs,
    runsLocally,
    holdingBack: file.settings.gpu_troubles,
    electricity: () => file.settings.electricity,
    offered: context.offered.current,
    uploadTokenOf: uploadTokens.of,
    adminHash: () => adminHash().toString('hex'),
    onFilesDropped() {
      sweep.soon();
      contentSweep.soon();
    },
    logFiles: logs.files,
    courier: openCourier(context, files, data.store, () => settings.joinAddress(network.url).url),
    engineOf: openEngines(context, data.store, () => settings.joinAddress(network.url)),
  });
  const releaseUploads = orchestrator.files.releaseClosedUploads;
  const sweep = startArtifactSweep({ ...deps, store: data.store, files, releaseUploads });
  const collect = orchestrator.files.collectDatasets;
  const contentSweep = startContentSweep({ ...deps, ...contents, store: data.store, collect });
  const { localWorker, settings } = createRuntimeSettings({ ...context, orchestrator, audit });
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
        pace: deps.uploadPace,
      },
      contents,
      logFiles: logs.files,
      adminHash,
      prove: createProver(folder.auditKey),
      log: deps.log,
      logRequests: deps.logRequests ?? false,
      version,
      panelDir,
      programs,
      refreshPrograms: context.offered.refresh,
      mono: deps.clock.mono,
      isOurHost,
      trustedProxies: config.trustedProxies,
      failureLimit: deps.failureLimit,
      socketLimits: deps.socketLimits,
      downloadLimits: deps.downloadLimits,
    },
  };
}

/** Closes all parts, the database last. */
export async function closeScope(scope: DatabaseScope, http: HttpServer): Promise<void> {
  // Stop the local worker first, so that it can still report that it goes offline.
  await scope.localWorker.close();
  scope.orchestrator.lifecycle.stop();
  await http.close();
  await closeFiles(scope);
  await scope.audit.stop();
  await scope.data.store.close();
}

/** Stops the sweeps, then closes the logs. */
export async function closeFiles({ sweep, logs, contentSweep }: DatabaseScope): Promise<void> {
  await sweep.stop();
  await contentSweep.stop();
  await logs.sweep.stop();
  await logs.files.close();
}
