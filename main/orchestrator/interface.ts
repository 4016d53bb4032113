import type { WorkerId } from '../../protocol/ids.ts';
import type { StorageLimits } from './rules/output-rules.ts';
import { createSecurityNotes, createSessionCalls } from './commands/access/sessions.ts';
import { noteSettings } from './commands/access/settings.ts';
import { createTokenCalls } from './commands/access/tokens.ts';
import { createArtifactCalls } from './commands/files/artifacts.ts';
import { createCheckpointCalls } from './commands/files/checkpoints.ts';
import { createConfigCalls } from './commands/files/configs.ts';
import { createDatasetCalls } from './commands/files/datasets.ts';
import { createLogCalls } from './commands/files/logs.ts';
import { createMetricCalls } from './commands/files/metrics.ts';
import { createChannelCalls } from './commands/notifications/channels.ts';
import { createPushCalls } from './commands/notifications/push.ts';
import { createRuleCalls } from './commands/notifications/rules.ts';
import { createJobEdits } from './commands/jobs/edit.ts';
import { createSampleCalls } from './commands/files/samples.ts';
import { createJobCalls } from './commands/jobs/jobs.ts';
import { createLaunchRequests, createPoolCalls, type PoolCallsDeps } from './commands/pools/pools.ts';
import { createMoveCalls } from './commands/queue/move-job.ts';
import { createOrderCalls, createQueueCalls } from './commands/queue/queue.ts';
import { createReports, type ProgressBook } from './commands/jobs/reports.ts';
import { createSubmissions } from './commands/jobs/submit.ts';
import { createBatches } from './commands/jobs/batches.ts';
import { createSweeps } from './commands/jobs/sweeps.ts';
import { createTemplateCalls } from './commands/jobs/templates.ts';
import { createTrainerActions } from './commands/jobs/trainer-actions.ts';
import { createJoinCalls } from './commands/workers/joining.ts';
import { createTrainerKeyCalls } from './memory/trainer-key-book.ts';
import { createUpdateCalls } from './commands/workers/updates.ts';
import { createWorkerAdmin } from './commands/workers/worker-admin.ts';
import { createWorkerCalls } from './commands/workers/worker-calls.ts';
import type { Core } from './core.ts';
import type { Configs, Courier, LogFiles } from './ports/index.ts';
import { fleetFigures } from './views/fleet-figures.ts';
import { readConfigValues, type ValuesWanted } from './views/config-values.ts';
import { createGpuAllocations } from './views/gpu-allocation.ts';
import { createQueueFigures } from './views/queue-figures.ts';
import { createTimeline } from './views/timeline.ts';
import { createUsage } from './views/usage.ts';
import { createWorkerList } from './views/worker-views.ts';

/** Calls of workers, and calls of users about workers. */
export function workersOf(core: Core, progress: ProgressBook) {
  const agent = createWorkerCalls(core, progress);
  const admin = createWorkerAdmin(core);
  const list = createWorkerList(core);
  const joining = createJoinCalls(core);
  const trainerKeys = createTrainerKeyCalls(core);
  const updates = createUpdateCalls(core);
  return {
    join: joining.join,
    register: agent.register,
    heartbeat: agent.heartbeat,
    openStream: agent.openStream,
    silenceOf: agent.silenceOf,
    disconnect: agent.disconnect,
    reportTrainerKeys: trainerKeys.reportTrainerKeys,
    /** Returns the id of the worker whose token has this hash; null for none. */
    byTokenHash: (hash: string): WorkerId | null => core.store.workerByTokenHash(hash)?.id ?? null,

    list: list.listWorkers,
    page: list.pageOfWorkers,
    get: admin.worker,
    create: admin.createWorker,
    local: admin.localWorker,
    update: admin.updateWorker,
    drain: admin.drainWorker,
    undrain: admin.undrainWorker,
    unquarantine: admin.unquarantineWorker,
    rotateToken: admin.rotateToken,
    remove: admin.deleteWorker,
    requestUpdates: updates.requestUpdates,
    cancelUpdate: updates.cancelUpdate,
    reportUpdate: updates.reportUpdate,
    createJoinToken: joining.createJoinToken,
    knowsJoinToken: joining.knowsJoinToken,
  };
}

/** Calls about single jobs. */
export function jobsOf(core: Core, configs: Configs, progress: ProgressBook) {
  const submissions = createSubmissions(core, configs);
  const jobs = createJobCalls(core);
  const order = createOrderCalls(core);
  const edits = createJobEdits(core);
  const sweeps = createSweeps(core, configs);
  const templates = createTemplateCalls(core, configs, submissions);
  const batches = createBatches(core, configs);
  return {
    submit: submissions.submit,
    dryRun: submissions.dryRun,
    retry: submissions.retry,
    /** Handles the report of a worker about its attempt. */
    report: createReports(core, progress),

    list: jobs.listJobs,
    count: jobs.countJobs,
    get: jobs.job,
    ownerOf: jobs.ownerOf,
    config: jobs.jobConfig,
    explain: jobs.explainJob,
    cancel: jobs.cancel,
    reject: jobs.reject,
    release: jobs.release,
    remove: jobs.removeJob,
    approve: order.approve,
    setPriority: order.setPriority,
    moveToTop: order.moveToTop,
    move: createMoveCalls(core).move,
    requestAction: createTrainerActions(core).requestAction,
    batch: batches.batch,
    dryBatch: batches.dryBatch,
    sweep: sweeps.sweep,
    drySweep: sweeps.drySweep,
    sweepTemplate: sweeps.sweepTemplate,
    dryTemplateSweep: sweeps.dryTemplateSweep,
    ...templates,
    edit: edits.edit,
    notesOf: edits.notesOf,
  };
}

/** Calls about the whole queue, and figures of the fleet. */
export function queueOf(core: Core) {
  const queue = createQueueCalls(core);
  const figures = createQueueFigures(core);
  const gpus = createGpuAllocations(core);
  return {
    view: queue.queue,
    pause: queue.pauseQueue,
    resume: queue.resumeQueue,
    concurrency: queue.concurrency,
    limit: queue.limitQueue,
    process: queue.processQueue,
    cleanUp: queue.cleanUp,
    position: figures.position,
    stats: figures.queueStats,
    order: figures.order,
    waiting: figures.waiting,
    jobsOf: figures.jobsOf,
    configValues: (request: ValuesWanted) => readConfigValues(core, request),
    timeline: createTimeline(core),
    usage: createUsage(core).usageByDay,
    figures: () => fleetFigures(core),
    localAndWorkers: gpus.localAndWorkers,
    gpuAllocation: gpus.gpuAllocation,
    localGpus: gpus.gpusHere,
  };
}

interface FileOptions {
  readonly storage?: StorageLimits;
  /** Maximum size of all dataset contents, in bytes; 0 for no limit. */
  readonly datasetsInAll?: number;
  readonly logFiles?: LogFiles;
}

/** Calls about files: configs, artifacts, checkpoints, datasets, logs and curves. */
export function filesOf(core: Core, { storage, datasetsInAll = 0, logFiles }: FileOptions) {
  const artifacts = createArtifactCalls(core, storage ?? { perJob: 0, inAll: 0, keepCheckpoints: 0 });
  const datasets = createDatasetCalls(core, datasetsInAll);
  const logs = createLogCalls(core, logFiles ?? null);
  const metrics = createMetricCalls(core);
  return {
    changeConfig: createConfigCalls(core).changeConfig,

    listArtifacts: artifacts.listArtifacts,
    listCheckpoints: createCheckpointCalls(core).listCheckpoints,
    listSamples: createSampleCalls(core).listSamples,
    artifact: artifacts.artifact,
    removeArtifact: artifacts.removeArtifact,
    reportOutstanding: artifacts.reportOutstanding,
    giveUpOutstanding: artifacts.giveUpOutstanding,
    renewUploadToken: artifacts.renewUploadToken,
    mayUpload: artifacts.mayUpload,
    upload: artifacts.upload,
    beginUpload: artifacts.beginUpload,
    growUpload: artifacts.growUpload,
    settleUpload: artifacts.settleUpload,
    finishUpload: artifacts.finishUpload,
    dropUpload: artifacts.dropUpload,
    sharedFile: artifacts.sharedFile,
    releaseClosedUploads: artifacts.releaseClosedUploads,

    datasets: datasets.datasets,
    publishDataset: datasets.publishDataset,
    pinDataset: datasets.pinDataset,
    pruneDatasets: datasets.pruneDatasets,
    collectDatasets: datasets.collectDatasets,
    roomForContent: datasets.roomForContent,
    contentStored: datasets.contentStored,
    storedContents: datasets.storedContents,
    contentOfJob: datasets.contentOfJob,
    inputOfAttempt: artifacts.inputOfAttempt,

    shipLog: logs.shipLog,
    findLog: logs.findLog,
    isLogOver: logs.isLogOver,
    attemptAfter: logs.attemptAfter,

    reportMetrics: metrics.reportMetrics,
    jobCurves: metrics.jobCurves,
    curve: metrics.curve,
  };
}

/** Calls about API tokens and sessions, and calls that write audit rows. */
export function accessOf(core: Core) {
  const tokens = createTokenCalls(core);
  const sessions = createSessionCalls(core);
  const notes = createSecurityNotes(core);
  return {
    principalByTokenHash: tokens.principalByTokenHash,
    principalOfToken: tokens.principalOfToken,
    listTokens: tokens.listTokens,
    createToken: tokens.createToken,
    revokeToken: tokens.revokeToken,

    openSession: sessions.openSession,
    sessionByHash: sessions.sessionByHash,
    listSessions: sessions.listSessions,
    closeSession: sessions.closeSession,
    revokeSession: sessions.revokeSession,
    revokeSessions: sessions.revokeSessions,
    endReplacedAdminSessions: sessions.endReplacedAdminSessions,

    noteRefusal: notes.noteRefusal,
    noteBackup: notes.noteBackup,
    noteSettings: noteSettings(core),
  };
}

/** Calls about pools and their launches. */
export function poolsOf(deps: PoolCallsDeps) {
  const pools = createPoolCalls(deps);
  const launches = createLaunchRequests(deps);
  return {
    list: pools.list,
    get: pools.get,
    create: pools.create,
    update: pools.update,
    remove: pools.remove,
    pause: pools.pause,
    resume: pools.resume,

    check: launches.check,
    test: launches.test,
    launches: launches.launches,
    launch: launches.launch,
    endLaunch: launches.endLaunch,
  };
}

/** Calls about notification channels, rules, deliveries and push subscriptions. */
export const notificationsOf = (core: Core, courier: Courier) => ({
  ...createChannelCalls({ core, courier }),
  ...createRuleCalls(core),
  ...createPushCalls({ core, courier }),
});
