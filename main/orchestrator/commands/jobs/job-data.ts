import type { JobData } from '../../../../protocol/dataset.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import { type Actor, type Job, nameOf } from '../../model.ts';
import type { DatasetFilter, Read } from '../../ports/index.ts';
import { seesAllJobs } from '../../views/visibility.ts';

/**
 * Returns the datasets that a submission requests. Refuses datasets that are not stored or that the user may not use.
 * Users may use their own datasets. Users who may see all jobs may use all datasets.
 */
export function dataFor(
  read: Read,
  requested: readonly NonNullable<SubmitRequest['data']>[number][],
  by: Actor,
): Outcome<readonly JobData[]> {
  const usable = usableBy(read, nameOf(by));
  const data: JobData[] = [];
  for (const { path, version, is_file } of requested) {
    const dataset = read.datasetWith(version, usable);
    if (dataset === null)
      return refuse(
        'dataset_not_found',
        `The data for ${path} is not stored (version ${version.slice(0, 12)}): push it with "trainyard data push", and submit the job again`,
      );
    if (is_file && dataset.files !== 1)
      return refuse(
        'config_invalid',
        `The data for ${path} must be one file, but has ${dataset.files} files`,
      );
    data.push({ path, version, files: dataset.files, bytes: dataset.bytes, is_file });
  }
  return accept(data);
}

/** Returns a filter for the datasets that a user's jobs may use. */
function usableBy(read: Read, user: string): DatasetFilter {
  return { owner: seesAllJobs(read, user) ? null : user, name: null };
}

/** Returns a job's data. `dataset` is null if none is stored with this content, or if the job's user may not use it. */
export function dataOfJob(read: Read, { id, user }: Pick<Job, 'id' | 'user'>): JobDetail['data'] {
  const usable = usableBy(read, user);
  return read.jobData(id).map(data => {
    const dataset =
      read.datasetWith(data.version, { ...usable, owner: user }) ?? read.datasetWith(data.version, usable);
    return { ...data, dataset: dataset === null ? null : { id: dataset.id, name: dataset.name } };
  });
}
