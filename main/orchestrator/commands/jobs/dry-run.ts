import type { Explanation } from '../../../../protocol/explain.ts';
import type { WorkerId } from '../../../../protocol/ids.ts';
import type { JobWarning } from '../../../../protocol/job.ts';
import type { EarlierRuns } from '../../../../protocol/submitted.ts';
import type { Core } from '../../core.ts';
import { createExplainer } from '../../views/explain.ts';
import { dataOf, trainerFor } from '../../../../trainers/index.ts';
import { gpusFor, type JobPayload, type PendingJob } from '../../model.ts';
import { sharedOutputWarnings, warningsAbout, configWarnings } from '../../rules/job-warnings.ts';
import { settingsOf } from '../../memory/eligibility.ts';

/** The predicted result of a submission. */
export interface DryRun {
  /** `rejected`: the job would not be accepted. */
  readonly status: 'running' | 'queued' | 'blocked' | 'rejected';
  readonly workerId: WorkerId | null;
  /** GPU numbers on that worker. */
  readonly gpus: readonly number[] | null;
  readonly position: number | null;
  readonly reason: string | null;
  readonly explanation: Explanation;
  /** About the config, and about the worker that would take the job. Without such a worker: what all matching workers share. */
  readonly warnings: readonly JobWarning[];
  readonly needs: ConfigNeeds;
  /** Figures of earlier runs with a similar config that the submitter may see; null for none. */
  readonly earlier: EarlierRuns | null;
  /** Whether a worker has reported the config keys that the trainer accepts. */
  readonly checksKeys: boolean;
}

/** The trainer, GPUs and files that a config needs on a rig. */
export interface ConfigNeeds {
  /** Null for a fleet test, which runs no trainer. Every worker can run it. */
  readonly trainer: string | null;
  readonly gpuCount: number;
  /** Files that are sent with the job, by their paths in the config. */
  readonly files: readonly string[];
  /** Paths of training data. */
  readonly data: readonly string[];
}

/** Returns what a job's config needs on a rig. */
export function needsOf({ spec: { requirements } }: PendingJob, payload: JobPayload): ConfigNeeds {
  const trainer = trainerFor(payload.config);
  return {
    trainer: requirements.trainer ?? null,
    gpuCount: requirements.gpuCount,
    files: Object.keys(payload.files),
    data: dataOf(payload, trainer).map(({ path }) => path),
  };
}

/** Predicts the outcome without storing or dispatching anything. `job` must be last in the queue. */
export function predictSubmission(
  core: Core,
  job: PendingJob,
  { config }: JobPayload,
  noWait: boolean,
): Omit<DryRun, 'needs' | 'earlier' | 'checksKeys'> {
  const about = configWarnings(core, job.spec, () => config);
  const explanation = { ...createExplainer(core, core.store).explain(job), job_id: null };
  const { position, summary: reason } = explanation;
  const canBeStored = core.store.acceptsWrites();
  const workerId = canBeStored ? core.jobQueue.takerFor(core, core.store, job) : null;
  if (workerId !== null) {
    const gpus = gpusFor(job.spec);
    const warnings = [...about, ...warningsAbout(core.store, workerId, job)];
    return { status: 'running', workerId, gpus, position: null, reason: null, explanation, warnings };
  }
  const shared = sharedOutputWarnings(core.store.workers(), job.spec, settingsOf(core.store));
  const warnings = [...about, ...shared];
  const notTaken = { workerId, gpus: null, position: null, reason, explanation, warnings };
  if (noWait || !canBeStored) return { ...notTaken, status: 'rejected' };
  return job.approval === 'wanted'
    ? { ...notTaken, status: 'blocked' }
    : { ...notTaken, status: 'queued', position };
}
