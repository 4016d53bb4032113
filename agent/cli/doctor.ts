import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Fetch, createClient } from '../../protocol/client.ts';
import { systemApi } from '../../protocol/admin-api.ts';
import { type AgentConfig, readToken, tokenMissing } from '../config/index.ts';
import { cacheLimit, contentsOf } from '../datasets/rig-data.ts';
import type { KnownTrouble } from '../gpu/conditions.ts';
import type { GpuReport } from '../gpu/probe.ts';
import { openOwnTokens } from '../session/worker-token.ts';
import { reasonOf, formatBytes } from '../files/failure-text.ts';
import { describeTrainer, type ProbedTrainer } from '../trainers/index.ts';
import { explainFailure } from '../connection/connection-warnings.ts';

/** The result of a check. If the check failed, `detail` also says what to do. */
export interface Finding {
  readonly what: string;
  readonly result: 'ok' | 'failed' | 'skipped';
  readonly detail: string;
}

export interface DoctorDeps {
  readonly config: AgentConfig;
  readonly fetch: Fetch;
  readonly gpus: GpuReport;
  /** Troubles of the GPUs that this worker uses. */
  readonly troubles: readonly KnownTrouble[];
  readonly version: string;
  readonly trainers: readonly ProbedTrainer[];
  /** Returns the free space of a folder's file system, in bytes. */
  readonly free?: (folder: string) => number;
}

const ok = (what: string, detail: string): Finding => ({ what, result: 'ok', detail });
const failed = (what: string, detail: string): Finding => ({ what, result: 'failed', detail });

const patienceMs = 10_000;
/** The size of a small model's checkpoint. With less free space, the next checkpoint may not fit. */
const minFreeBytes = 5 * 1024 ** 3;

/** Checks everything that a worker needs, and says what to do about each problem. Changes nothing. */
export async function examineWorker(deps: DoctorDeps): Promise<readonly Finding[]> {
  const { config } = deps;
  return [
    await checkOrchestrator(deps),
    checkToken(config),
    checkFolder('State folder', config.stateDir, 'choose another one with --state-dir'),
    checkFolder('Work folder', config.workDir, 'choose another one with --work-dir'),
    checkRoom(deps),
    await checkCache(deps),
    checkGpus(deps),
    ...checkTrainers(deps),
  ];
}

async function checkOrchestrator({ config, fetch, version }: DoctorDeps): Promise<Finding> {
  const what = 'Orchestrator';
  const { orchestratorUrl: url } = config;
  const client = createClient({ baseUrl: url, headers: () => ({}), timeoutMs: patienceMs, fetch });
  const answer = await client.call(systemApi.version);
  if (!answer.ok) return failed(what, explainFailure(answer.failure, url));
  const serverVersion = answer.value.version;
  if (serverVersion === version)
    return ok(what, `${url} answers, and has the same version as this worker: ${serverVersion}`);
  return failed(
    what,
    `${url} is version ${serverVersion}, but this worker is version ${version}: run "update" to get the matching version`,
  );
}

function checkToken({ token, stateDir }: AgentConfig): Finding {
  const what = 'Token';
  const ownTokens = openOwnTokens(stateDir).read();
  if (!ownTokens.ok) return failed(what, ownTokens.message);
  const hasOwn = ownTokens.value.joined !== null;
  if (token === null) return hasOwn ? ok(what, 'The token from joining') : failed(what, tokenMissing);
  const read = readToken(token);
  if (!read.ok) return failed(what, read.message);
  return ok(
    what,
    token.kind === 'file'
      ? `In ${token.path}, readable only by its owner`
      : 'Given by --worker-token or the environment',
  );
}

/** Returns the folder itself, or the nearest existing folder above it. */
function nearestExisting(folder: string): string {
  let existing = folder;
  while (!existsSync(existing) && dirname(existing) !== existing) existing = dirname(existing);
  return existing;
}

function checkFolder(what: string, folder: string, otherwise: string): Finding {
  const existing = nearestExisting(folder);
  try {
    if (!statSync(existing).isDirectory()) throw new Error(`${existing} is not a folder`);
    accessSync(existing, constants.W_OK | constants.X_OK);
    return ok(what, existing === folder ? folder : `${folder}, which will be created at the first start`);
  } catch (cause) {
    return failed(
      what,
      `${folder} cannot be written (${reasonOf(cause)}): get write permission for ${existing}, or ${otherwise}`,
    );
  }
}

function checkRoom({ config, free = freeBytes }: DoctorDeps): Finding {
  const what = 'Disk';
  const bytes = free(nearestExisting(config.workDir));
  const room = `${(bytes / 1024 ** 3).toFixed(1)} GB are free for jobs`;
  return bytes >= minFreeBytes
    ? ok(what, room)
    : failed(what, `Only ${room} in ${config.workDir}: free space, or choose another folder with --work-dir`);
}

async function checkCache({ config, free = freeBytes }: DoctorDeps): Promise<Finding> {
  const what = 'Training data';
  const { workDir, dataCache } = config;
  // `checkFolder` reports an unreadable folder.
  const bytesInCache = await contentsOf(workDir)
    .totalBytes()
    .catch(() => 0);
  const available = free(nearestExisting(workDir)) + bytesInCache;
  const [limit, used] = [formatBytes(cacheLimit(dataCache, available)), formatBytes(bytesInCache)];
  if (dataCache === null || dataCache <= available)
    return ok(what, `The cache may use ${limit}, and contains ${used}`);
  return failed(
    what,
    `The cache may use ${formatBytes(dataCache)}, but the disk of ${workDir} has room for only ${limit}: lower --data-cache, or choose another folder with --work-dir`,
  );
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

function checkGpus({ gpus: { count, name, problem }, troubles }: DoctorDeps): Finding {
  const what = 'GPUs';
  if (problem !== undefined) return failed(what, problem.message);
  // Ignore a GPU held by one of this worker's own jobs, which may be running now.
  const bad = troubles.filter(({ ours }) => ours !== true);
  if (bad.length > 0) return failed(what, bad.map(({ gpu, detail }) => `GPU ${gpu}: ${detail}`).join('; '));
  if (count > 0) return ok(what, `${name} (${count} in all)`);
  return { what, result: 'skipped', detail: 'No GPU found: jobs that need one run on other workers' };
}

const checkTrainers = ({ trainers }: DoctorDeps): readonly Finding[] =>
  trainers.map(trainer =>
    trainer.problem === null ? ok('Trainer', describeTrainer(trainer)) : failed('Trainer', trainer.problem),
  );
