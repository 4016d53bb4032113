import { setFlagsFromString } from 'node:v8';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { ContentFiles, Locks } from '../../datasets/content-files.ts';
import { refuse } from '../../protocol/problem.ts';
import { adminPrincipal, type Orchestrator, type Uploader } from '../orchestrator/index.ts';
import type { ArtifactFiles, ConfigFolder, LogFiles } from '../orchestrator/ports/index.ts';
import { mountNotificationRoutes } from './routes/notification-routes.ts';
import { mountPoolRoutes } from './routes/pool-routes.ts';
import { mountWorkerAdminRoutes, mountTokenRoutes } from './routes/admin-routes.ts';
import { mountAgentRoutes, scriptHash, sumsHash, type WorkerPrograms } from './routes/agent-routes.ts';
import { type AuditReader, mountAuditRoutes, mountJobEvents } from './routes/audit-routes.ts';
import { sendProblem, unexpected, createBareApp, type RequestLog } from './listener/answer.ts';
import { createAuth } from './auth/auth.ts';
import { type BackupHandler, mountBackupRoutes } from './routes/backup-routes.ts';
import type { TrustedProxies } from './auth/sender.ts';
import { mountConfigRoutes } from './routes/config-routes.ts';
import type { DownloadLimits } from './routes/downloads.ts';
import { guardEdge, type IsOurs } from './listener/edge.ts';
import { guardFailures, createFailureLimit, type FailureLimit } from './auth/failures.ts';
import { type SocketLimits, socketLimits, type TlsIdentity } from './listener/http-listener.ts';
import { createContentHandler } from './uploads/content-handler.ts';
import { mountDatasetRoutes } from './routes/dataset-routes.ts';
import { mountHealthRoutes } from './routes/health-routes.ts';
import { createListeners, type Listener } from './listener/listeners.ts';
import { mountLogRoutes } from './routes/log-routes.ts';
import { mountQueueRoutes } from './routes/queue-routes.ts';
import { mountRunRoutes } from './routes/run-routes.ts';
import { mountTemplateRoutes } from './routes/template-routes.ts';
import { servePanel } from './routes/panel.ts';
import { createRouter } from './routes/route.ts';
import { mountSessionRoutes, signInPath, createOneTimeCodes } from './routes/session-routes.ts';
import { mountCurveRoutes } from './routes/curve-routes.ts';
import { createMetrics, type Metrics } from './routes/metrics.ts';
import { mountArtifactRoutes, mountStorageRoutes } from './routes/storage-routes.ts';
import { createStreamRegistry, type StreamRegistry } from './listener/stream-registry.ts';
import {
  mountSystemRoutes,
  type Prove,
  mountSettingsRoutes,
  type SettingsHandler,
} from './routes/system-routes.ts';
import type { Pace } from './uploads/receive-body.ts';
import { createTransferHeap } from './listener/transfer-heap.ts';
import { createUploadHandler } from './uploads/upload-handler.ts';
import { mountWorkerRoutes } from './routes/worker-routes.ts';
import { type RequestTracker, createRequestTracker } from './listener/connections.ts';

export interface HttpDeps {
  readonly orchestrator: Orchestrator;
  readonly audit: AuditReader;
  readonly settings: SettingsHandler;
  readonly configs: ConfigFolder;
  readonly artifacts: ArtifactDeps;
  /** The contents of datasets. The folder must exist. The code that removes contents uses the same locks. */
  readonly contents: { readonly files: ContentFiles; readonly folder: string; readonly locks: Locks };
  readonly logFiles: LogFiles;
  /** Returns the SHA-256 of the current admin token. */
  readonly adminHash: () => Buffer;
  readonly prove: Prove;
  readonly log: RequestLog;
  /** If true, a line is logged for each request. */
  readonly logRequests: boolean;
  readonly version: string;
  /** Folder of the built panel; null when there is none. */
  readonly panelDir: string | null;
  /** The worker programs, which rigs download when they join. */
  readonly programs: WorkerPrograms;
  /** Reads the worker programs again, for updates. */
  readonly refreshPrograms: () => Promise<void>;
  readonly mono: () => number;
  readonly backups: BackupHandler;
  readonly isOurHost: IsOurs;
  /** Proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: TrustedProxies;
  readonly failureLimit?: FailureLimit | undefined;
  readonly socketLimits?: SocketLimits | undefined;
  readonly downloadLimits?: DownloadLimits | undefined;
}

/** The storage of artifacts. */
export interface ArtifactDeps {
  readonly files: ArtifactFiles;
  /** Disk space in bytes that uploads must leave free. */
  readonly reserveBytes: number;
  /** Returns the attempt for which this upload token was issued; null when the token is unknown. */
  readonly uploaderOf: (token: string) => Uploader | null;
  readonly pace?: Pace | undefined;
}

export interface HttpServer {
  /** Returns a path that signs a browser in once. Append it to the server's address. */
  signInPath(): string;
  /**
   * Ends event streams and answers all new requests with 503; the sockets stay open. Requests in progress get a moment to finish.
   * `request` is not ended, so it can still get its response.
   */
  suspend(request: IncomingMessage): Promise<void>;
  /** Ends the streams of clients that have lost the permission to read them. */
  recheck(): void;
  /** Uses these dependencies for all further requests. */
  serve(deps: HttpDeps): void;
  /** Opens an additional socket. Rejects as Node's `listen` does: EADDRINUSE, EACCES, ... */
  listen(host: string, port: number, isSecure: boolean): Promise<Listener>;
  /** Sets the certificate for new TLS connections of all listeners. */
  setCertificate(identity: TlsIdentity): void;
  /** Closes all sockets, ends event streams, and gives requests in progress a moment to finish. */
  close(): Promise<void>;
}

export function createHttpServer(deps: HttpDeps): HttpServer {
  const streams = createStreamRegistry();
  const requests = createRequestTracker();
  let orchestrator = deps.orchestrator;
  const permanent = {
    streams,
    requests,
    failureLimit: deps.failureLimit ?? createFailureLimit(deps.mono),
    metrics: createMetrics({ version: deps.version, figures: () => orchestrator.queue.figures() }),
  };
  let app = createApp(deps, permanent);
  const limits = deps.socketLimits ?? socketLimits;
  const listeners = createListeners(app.handler, {
    ...permanent,
    limits,
    suspendedHandler: createSuspendedHandler(deps),
  });
  return {
    signInPath: () => app.signInPath(),
    suspend: listeners.suspend,
    recheck: streams.recheck,
    serve(next) {
      orchestrator = next.orchestrator;
      app = createApp(next, permanent);
      listeners.serve(app.handler);
    },
    listen: listeners.listen,
    setCertificate: listeners.setCertificate,
    close: listeners.closeAll,
  };
}

/** Creates the handler that answers 503 while a restore replaces the database. */
function createSuspendedHandler(deps: HttpDeps): RequestListener {
  const detail = 'A backup is being restored. Try again in a few seconds';
  return createBareApp(deps.log, deps.logRequests).use((_request, response) =>
    sendProblem(response, refuse('restoring', detail).refusal),
  );
}

/** Dependencies that stay the same after a restore. */
interface PermanentDeps {
  readonly streams: StreamRegistry;
  readonly requests: RequestTracker;
  readonly failureLimit: FailureLimit;
  readonly metrics: Metrics;
}

interface App {
  readonly handler: RequestListener;
  signInPath(): string;
}

function createApp(deps: HttpDeps, { streams, requests, failureLimit, metrics }: PermanentDeps): App {
  const { orchestrator, audit, settings, configs, adminHash, log, version, panelDir, mono } = deps;
  const app = createBareApp(deps.log, deps.logRequests);
  // As in Express, an empty list trusts no proxy.
  app.set('trust proxy', deps.trustedProxies);
  app.use(guardEdge(deps.isOurHost, log));
  const { workers, access } = orchestrator;
  const auth = createAuth({
    admin: adminPrincipal,
    adminHash,
    workerByTokenHash: workers.byTokenHash,
    knowsJoinToken: workers.knowsJoinToken,
    uploaderOf: deps.artifacts.uploaderOf,
    mayUpload: orchestrator.files.mayUpload,
    principalByTokenHash: access.principalByTokenHash,
    principalBySessionHash(hash) {
      const session = access.sessionByHash(hash);
      return session === null ? null : access.principalOfToken(session.tokenId);
    },
  });
  const failures = guardFailures(failureLimit, orchestrator.access.noteRefusal);
  const router = createRouter(app, {
    authenticate: auth.authenticate,
    ownerOf: orchestrator.jobs.ownerOf,
    onRefused: failures,
    onAnswered: metrics.noteCall,
  });
  const codes = createOneTimeCodes(mono, () => adminHash().toString('hex'));
  const { idleMs } = deps.socketLimits ?? socketLimits;
  const { uploaderOf } = deps.artifacts;
  mountWorkerRoutes(router, { orchestrator, streams, uploaderOf, idleMs });
  mountAgentRoutes(router, { ...deps, scriptAddress: settings.scriptAddress });
  mountWorkerAdminRoutes(router, {
    orchestrator,
    joinAddress: settings.joinAddress,
    scriptHash: () => scriptHash(deps),
    sumsHash: () => sumsHash(deps),
    refreshPrograms: deps.refreshPrograms,
  });
  mountPoolRoutes(router, orchestrator);
  mountNotificationRoutes(router, orchestrator);
  mountCurveRoutes(router, orchestrator);
  mountQueueRoutes(router, orchestrator);
  mountRunRoutes(router, orchestrator);
  mountTemplateRoutes(router, orchestrator);
  mountStorage(router, deps, requests);
  mountLogRoutes(router, {
    orchestrator,
    files: deps.logFiles,
    streams,
    authenticate: auth.authenticate,
    mono,
    log,
  });
  mountConfigRoutes(router, orchestrator, configs);
  mountAuditRoutes(router, audit);
  mountJobEvents(router, orchestrator, audit);
  mountSessionRoutes(router, {
    orchestrator,
    codes,
    principalOf: auth.principalOf,
    recheck: streams.recheck,
  });
  mountSettingsRoutes(router, settings);
  mountBackupRoutes(router, { backups: deps.backups, orchestrator, log });
  mountTokenRoutes(router, orchestrator, streams.recheck);
  mountHealthRoutes(router, { ...deps.artifacts, orchestrator, backups: deps.backups, version });
  mountSystemRoutes(router, {
    orchestrator,
    streams,
    version,
    authenticate: auth.authenticate,
    metrics,
    prove: deps.prove,
  });
  if (panelDir !== null) servePanel(app, panelDir);
  router.seal();
  app.use(unexpected(log));
  return { handler: app, signInPath: () => signInPath(codes.make(adminPrincipal)) };
}

function mountStorage(
  router: ReturnType<typeof createRouter>,
  { orchestrator, artifacts: { files, reserveBytes, pace }, contents, log }: HttpDeps,
  requests: RequestTracker,
): void {
  const heap = createTransferHeap(percent => setFlagsFromString(`--heap-growing-percent=${percent}`));
  const uploadHandler = createUploadHandler({
    orchestrator,
    files,
    reserveBytes,
    log,
    ...(pace && { pace }),
  });
  mountStorageRoutes(router, {
    orchestrator,
    handler: uploadHandler,
    files,
    contents: contents.files,
    requests,
    heap,
  });
  mountArtifactRoutes(router, { orchestrator, files, heap });
  const contentHandler = createContentHandler({ ...contents, orchestrator, reserveBytes, pace, log });
  mountDatasetRoutes(router, {
    orchestrator,
    handler: contentHandler,
    files: contents.files,
    requests,
    heap,
  });
}
