import type { JobData } from '../../../../protocol/dataset.ts';
import type { JobDetail } from '../../../../protocol/job.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import { type Actor, type Job, nameOf } from '../../model.ts';
import type { DatasetFilter, Read } from '../../ports/index.ts';
import { seesAllJobs } from '../../views/visibility.ts';

/** The data that a submission asks for. Users may use their own datasets and, with the right to see all jobs, those of others. */
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

/** The datasets that the jobs of a user may use. */
function usableBy(read: Read, user: string): DatasetFilter {
  return { owner: seesAllJobs(read, user) ? null : user, name: null };
}

/** The data of a job with its datasets, as far as they are stored and its user may use them. */
export function dataOfJob(read: Read, { id, user }: Pick<Job, 'id' | 'user'>): JobDetail['data'] {
  const usable = usableBy(read, user);
  return read.jobData(id).map(data => {
    const dataset =
      read.datasetWith(data.version, { ...usable, owner: user }) ?? read.datasetWith(data.version, usable);
    return { ...data, dataset: dataset === null ? null : { id: dataset.id, name: dataset.name } };
  });
}
