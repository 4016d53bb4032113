/** Fills the store of a data folder with the history of a large fleet, as if the fleet had run for months. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type JobAbout, nothingAbout } from '../../protocol/job-about.ts';
import { createLogFiles } from '../../main/store/logs/log-files.ts';
import { createSeal } from '../../main/audit/chain.ts';
import { makeFolder, openDataFolder } from '../../main/host/data-folder.ts';
import { systemClock } from '../../main/host/system.ts';
import type { Attempt, Job, PendingJob, Tx, Worker } from '../../main/orchestrator/ports/index.ts';
import { openSqliteStore, type SqliteStore } from '../../main/store/sqlite-store.ts';
import { AttemptId, JobId, WorkerId } from '../../protocol/ids.ts';

export interface Scale {
  readonly workers: number;
  readonly pending: number;
  readonly running: number;
  readonly ended: number;
  /** Time between two submissions in ms; one minute by default. */
  readonly everyMs?: number;
  /** True to also write an audit row for each ended job, tags and groups of some jobs, and up to 2,000 logs. */
  readonly isAged?: boolean;
}

/** A running job, with the data for reports about it. */
export interface RunningJob {
  readonly jobId: JobId;
  readonly attemptId: AttemptId;
  readonly token: string;
}

export interface LargeFleet {
  readonly adminToken: string;
  readonly running: readonly RunningJob[];
}

/** Rows per transaction. A single transaction for all rows would take about a minute. */
const rowsAtOnce = 2_500;
const minute = 60_000;

/**
 * Fills the store. Workers have one to eight GPUs and two or three labels. The first workers run one job each. One
 * in 33 of the other workers is offline, and one in 50 is drained. No pending job matches a worker: each requires one of ten labels that
 * no worker has. Nine of ten ended jobs completed. Ended jobs are the oldest, pending jobs the newest.
 */
export async function fillLargeFleet(dataDir: string, scale: Scale): Promise<LargeFleet> {
  makeFolder(dataDir);
  const { databaseFile, auditKey, adminToken } = openDataFolder(dataDir);
  const fail = (cause: unknown): never => {
    throw new Error('the store could not be filled', { cause });
  };
  const silentLog = { info: () => {}, warn: () => {}, error: () => {} };
  const store = openSqliteStore(databaseFile, {
    log: silentLog,
    clock: systemClock,
    seal: createSeal(auditKey),
    onFatal: fail,
  });
  const now = systemClock.wall();
  await inPortions(store, scale.workers, (tx, n) => {
    tx.insertWorker(workerOf(n, scale.running, now), hashOf(tokenOf(n)));
  });
  const kinds = [
    ...Array.from({ length: scale.ended }, () => 'ended' as const),
    ...Array.from({ length: scale.running }, () => 'running' as const),
    ...Array.from({ length: scale.pending }, () => 'pending' as const),
  ];
  const running: RunningJob[] = [];
  await inPortions(store, kinds.length, (tx, n) => {
    const plain = jobOf(n, now - (kinds.length - n) * (scale.everyMs ?? minute));
    const submitted = scale.isAged ? { ...plain, spec: { ...plain.spec, about: aboutOf(n) } } : plain;
    tx.insertJob(submitted, { config: { model: 'sdxl', seed: n }, dataloader: null, files: {} });
    const workerNo = kinds[n] === 'running' ? running.length : n % scale.workers;
    const replacement =
      kinds[n] === 'running' ? runningJob(submitted, workerNo) : endedJob(submitted, workerNo);
    if (kinds[n] === 'pending') return;
    tx.replaceJob(submitted, replacement);
    if (scale.isAged && 'endedAt' in replacement) tx.appendAudit(auditRowOf(replacement));
    if (kinds[n] === 'running' && replacement.attempt !== null)
      running.push({ jobId: replacement.id, attemptId: replacement.attempt.id, token: tokenOf(workerNo) });
  });
  await store.close();
  if (scale.isAged) await writeLogs(dataDir, Math.min(maxLogs, scale.ended));
  return { adminToken, running };
}

const maxLogs = 2_000;

/** Returns tags and a group for one job in fifty, and nothing for the others. */
const aboutOf = (n: number): JobAbout =>
  n % 50 === 0
    ? {
        name: `run ${n}`,
        tags: ['base', `set-${n % 7}`],
        group: `night-${n % 400}`,
        sweep: null,
        template: null,
      }
    : nothingAbout;

const auditRowOf = ({ id, status, endedAt }: EndedJob): Parameters<Tx['appendAudit']>[0] => ({
  at: endedAt,
  type: `job.${status}`,
  actor: { type: 'system' },
  target: { type: 'job', id },
  details: { from: 'running', to: status },
});

async function writeLogs(dataDir: string, count: number): Promise<void> {
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const options = { perAttempt: 2 ** 20, reserve: 0, clock: systemClock, log };
  const files = createLogFiles({ ...options, folder: join(dataDir, 'logs') });
  const text = 'step 1 loss 0.5\n'.repeat(20);
  const piece = { after: 0, from: 0, to: text.length, text, isLast: true };
  for (let n = 0; n < count; n += 1) await files.append(jobIdOf(n), 1, piece);
  await files.close();
}

async function inPortions(
  store: SqliteStore,
  count: number,
  put: (tx: Tx, n: number) => void,
): Promise<void> {
  for (let first = 0; first < count; first += rowsAtOnce)
    await store.write(tx => {
      for (let n = first; n < Math.min(count, first + rowsAtOnce); n++) put(tx, n);
    });
}

const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');
const tokenOf = (n: number): string => `wt_of_worker_${n}`;
const jobIdOf = (n: number): JobId => JobId.parse(`j_${String(n).padStart(8, '0')}`);
const workerId = (n: number): WorkerId => WorkerId.parse(`w_${String(n).padStart(8, '0')}`);

const cards = [
  { name: 'NVIDIA A100-SXM4-80GB', vramGb: 80 },
  { name: 'NVIDIA GeForce RTX 4090', vramGb: 24 },
  { name: 'NVIDIA H100 80GB HBM3', vramGb: 80 },
  { name: 'NVIDIA L40S', vramGb: 48 },
] as const;

function workerOf(n: number, busy: number, now: number): Worker {
  const card = cards[n % cards.length] ?? cards[0];
  const gpuCount = 2 ** (n % 4);
  const gpus = Array.from({ length: gpuCount }, (_, index) => ({
    index,
    name: card.name,
    vram_gb: card.vramGb,
  }));
  const isFree = n >= busy;
  return {
    id: workerId(n),
    name: `rig-${String(n).padStart(4, '0')}`,
    type: n % 5 === 0 ? 'ephemeral' : 'persistent',
    local: false,
    labels: { team: ['vision', 'nlp', 'audio'][n % 3] ?? '', site: `hall-${n % 12}` },
    createdAt: now - (10_000 - n) * minute,
    agent: {
      capabilities: {
        gpuCount,
        gpuName: card.name,
        gpuVramGb: card.vramGb,
        accelerator: 'cuda',
        driver: '570.86.15',
        gpus,
      },
      host: `rig-${n}.lan`,
      persistent: true,
      labels: n % 2 === 0 ? { rack: String(n % 40) } : {},
      protocol: 2,
      instanceId: `machine ${n}`,
      startId: `start ${n}`,
      registrationNo: 1,
      address: `10.0.${Math.floor(n / 250)}.${n % 250}`,
      agentVersion: '0.1.0',
      gpuTroubles: [],
      allowedConfigKeys: null,
      trainers: null,
      outputs: null,
      datasets: null,
      registeredAt: now - 600 * minute,
    },
    drain:
      isFree && n % 50 === 0
        ? { reason: 'a new fan', by: 'admin', since: now - minute, deadlineMs: null }
        : null,
    lastContactAt: now - (n % 30) * 1_000,
    gone: isFree && n % 33 === 0 ? 'silent' : null,
    served: false,
    strikes: [],
    quarantine: null,
  };
}

const priorities = [0, 10, 10, 10, 20, 30];

function jobOf(n: number, queuedAt: number): PendingJob {
  const priority = priorities[n % priorities.length] ?? 10;
  return {
    id: jobIdOf(n),
    order: n + 1,
    status: 'pending',
    spec: {
      configName: `${['sdxl-lora', 'flux-full', 'video-wan', 'digits'][n % 4]}-${n % 400}`,
      about: nothingAbout,
      requirements: {
        target: 'worker',
        gpuCount: 1,
        vramGb: 0,
        accelerator: 'cuda',
        guarded: false,
        configKeys: [],
        labels: { reserved: `for-${n % 10}` },
      },
      devices: null,
      maxRetries: 3,
      retryOn: [],
      onLostContact: 'continue',
      timeoutMs: null,
      requests: [],
    },
    user: ['admin', 'ada', 'grace', 'ci'][n % 4] ?? 'admin',
    team: null,
    // No boost is pending, so the rank stays constant during a measurement.
    rank: { priority, boosts: 0, boostAt: null, top: 0, level: priority, turn: n + 1 },
    approval: null,
    retryOf: null,
    retryRoot: null,
    dependencies: null,
    queuedAt,
    notBefore: 0,
    retriesUsed: 0,
    progress: null,
    attempt: null,
  };
}

const attemptOf = (job: PendingJob, workerNo: number): Attempt => ({
  id: AttemptId.parse(`a_${job.id}`),
  jobId: job.id,
  n: 1,
  workerId: workerId(workerNo),
  offeredAt: job.queuedAt + 1_000,
  startedAt: job.queuedAt + 5_000,
  end: null,
  late: null,
  resumed: null,
});

const progressOf = (step: number) => ({
  step,
  total_steps: 1_000_000_000,
  loss: 0.08 + (step % 97) / 1_000,
  steps_per_second: 3.4,
});

function runningJob(job: PendingJob, workerNo: number): Job {
  const { notBefore: _, ...rest } = job;
  return { ...rest, status: 'running', attempt: attemptOf(job, workerNo), progress: progressOf(job.order) };
}

type EndedJob = Extract<Job, { readonly endedAt: number }>;

function endedJob(job: PendingJob, workerNo: number): EndedJob {
  const { notBefore: _, ...rest } = job;
  const status = job.order % 10 === 0 ? 'failed' : 'completed';
  const cause = status === 'failed' ? 'trainer_exit' : null;
  const error = status === 'failed' ? 'the trainer ended with exit code 1' : null;
  const endedAt = job.queuedAt + 45 * minute;
  const end = {
    at: endedAt,
    outcome: status,
    charged: false,
    cause,
    error,
    exitCode: cause && 1,
    signal: null,
  } as const;
  const attempt = { ...attemptOf(job, workerNo), end };
  return { ...rest, status, attempt, endedAt, cause, error, progress: progressOf(job.order) };
}
