import type { JobDetail } from '../../../protocol/job.ts';
import type { Mlflow, Run } from './client.ts';
import { batchesOf, limits } from './limits.ts';
import { laterThan, type Metric, type Moment } from './metrics.ts';
import type { Pair } from './params.ts';
import {
  endOfRun,
  jobIdTag,
  nameOfRun,
  startOfRun,
  statusOfRun,
  tagsOfJob,
  tagsOfNewRun,
} from './run-facts.ts';

/** The part of a job that is exported. */
export interface Exported {
  readonly job: JobDetail;
  /** The address of the orchestrator. */
  readonly server: string;
  readonly params: readonly Pair[];
  readonly metrics: readonly Metric[];
}

/** The run that an export created or updated, and the numbers of new params and values. */
export interface ExportResult {
  readonly experimentId: string;
  readonly runId: string;
  /** False when an earlier export created the run. */
  readonly isNew: boolean;
  /** Number of params and values that the run did not have before. */
  readonly params: number;
  readonly values: number;
}

/**
 * Writes a job into MLflow: into the run with the job's tag, or else into a new run. Sends only the params and values that the
 * run lacks, because MLflow refuses a changed param and stores a repeated value twice. So users can repeat an export, also after
 * a failure in the middle. `onSent` gets the share of the values that was sent, 0 to 1.
 */
export async function exportRun(
  mlflow: Mlflow,
  { job, server, params, metrics }: Exported,
  experiment: string,
  onSent: (share: number) => void,
): Promise<ExportResult> {
  const experimentId = await mlflow.experiment(experiment);
  const existing = await mlflow.findRun(experimentId, { key: jobIdTag, value: job.id });
  const run = existing ?? (await create(mlflow, job, experimentId));
  const newParams = params.filter(({ key }) => !run.params.has(key));
  const newMetrics = laterThan(metrics, await lastValues(mlflow, run));
  for (const batch of batchesOf(newParams, limits.pairsOfBatch)) await mlflow.log(run.id, { params: batch });
  let sent = 0;
  for (const batch of batchesOf(newMetrics, limits.metricsOfBatch)) {
    await mlflow.log(run.id, { metrics: batch });
    sent += batch.length;
    onSent(sent / newMetrics.length);
  }
  for (const batch of batchesOf(tagsOfJob(job, server), limits.pairsOfBatch))
    await mlflow.log(run.id, { tags: batch });
  await mlflow.setStatus(run.id, statusOfRun(job), endOfRun(job));
  return {
    experimentId,
    runId: run.id,
    isNew: existing === null,
    params: newParams.length,
    values: newMetrics.length,
  };
}

const create = (mlflow: Mlflow, job: JobDetail, experimentId: string): Promise<Run> =>
  mlflow.createRun({
    experiment_id: experimentId,
    run_name: nameOfRun(job),
    start_time: startOfRun(job),
    tags: tagsOfNewRun(job),
  });

/** Returns the time and step of the last value of each metric in the run. */
async function lastValues(mlflow: Mlflow, run: Run): Promise<ReadonlyMap<string, Moment>> {
  const values = new Map<string, Moment>();
  for (const metric of run.metrics) {
    const last = await mlflow.lastValue(run.id, metric);
    if (last !== null) values.set(metric, last);
  }
  return values;
}
