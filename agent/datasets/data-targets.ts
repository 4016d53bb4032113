import type { DataTarget, JobOffer } from '../job.ts';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, relative, sep } from 'node:path';
import type { JobData } from '../../protocol/dataset.ts';
import { withInputPaths } from '../../protocol/job-inputs.ts';
import { type Bundle, dataOf, trainerFor, withPaths } from '../../trainers/index.ts';

/** Returns the folder with the datasets of a job. */
export const dataFolderOf = (jobFolder: string): string => join(jobFolder, 'data');

/** Returns the folder with a job's inputs, which are files of other jobs. */
export const inputsFolderOf = (jobFolder: string): string => join(jobFolder, 'inputs');

/**
 * Returns the name of the job's folder in the work folder. Workers that train a job together may share a work folder, so all but
 * the first add their rank. No id contains a dot.
 */
export const folderNameOf = ({ job_id: jobId, node }: Pick<JobOffer, 'job_id' | 'node'>): string =>
  node === undefined || node.rank === 0 ? jobId : `${jobId}.node-${node.rank}`;

/** Returns the id of the job to which a folder in the work folder belongs. */
const jobOfFolder = (name: string): string => name.replace(/\..*$/, '');

/** Returns the folder of the cache. It is on the same disk as the jobs, so that jobs can link its files. */
export const cacheFolderOf = (workDir: string): string => join(workDir, '.data-cache');

/**
 * Writes a marker file for the data folder of a job, and removes the data folders of other jobs that have a marker
 * file. Those jobs do not need their data now, because one job runs at a time. The links in their folders would keep
 * the content on the disk after the cache has deleted it. Folders without a marker file stay, because they may belong
 * to the user.
 */
export const claimData = (workDir: string, job: string): Promise<void> =>
  claim(workDir, job, { kind: 'jobs', folderOf: dataFolderOf });

/** Like `claimData`, for the folder of a job's inputs. */
export const claimInputs = (workDir: string, jobFolder: string): Promise<void> =>
  claim(workDir, relative(workDir, jobFolder).split(sep)[0] ?? '', {
    kind: 'inputs',
    folderOf: inputsFolderOf,
  });

async function claim(
  workDir: string,
  job: string,
  { kind, folderOf }: { readonly kind: string; readonly folderOf: (jobFolder: string) => string },
): Promise<void> {
  const markersFolder = join(cacheFolderOf(workDir), kind);
  await mkdir(markersFolder, { recursive: true, mode: 0o700 });
  for (const markedJob of await readdir(markersFolder)) {
    if (jobOfFolder(markedJob) === jobOfFolder(job)) continue;
    await rm(folderOf(join(workDir, markedJob)), { recursive: true, force: true });
    await rm(join(markersFolder, markedJob), { force: true });
  }
  await writeFile(join(markersFolder, job), '', { mode: 0o600 });
}

/** Returns the last name in a path, which can be from any operating system; `data` if there is none. */
function lastName(path: string): string {
  const name = basename(path.replaceAll('\\', '/'));
  return name === '' || name === '.' || name === '..' ? 'data' : name;
}

export const dataTargetsOf = (data: readonly JobData[], jobFolder: string): readonly DataTarget[] =>
  data.map((each, index) => {
    const name = lastName(each.path);
    const folder = join(dataFolderOf(jobFolder), each.is_file ? String(index) : `${index}-${name}`);
    return { data: each, folder, path: each.is_file ? join(folder, name) : folder };
  });

/** Copies a bundle, and replaces the path of each dataset by the path of the fetched data. */
export function withDataPaths(bundle: Bundle, dataTargets: readonly DataTarget[]): Bundle {
  const newPaths = new Map(dataTargets.map(({ data, path }) => [data.path, path]));
  if (newPaths.size === 0) return bundle;
  const trainer = trainerFor(bundle.config);
  if (trainer.name === 'command')
    return {
      ...bundle,
      config: replacePathsIn(bundle.config, newPaths),
      dataloader: replacePaths(bundle.dataloader, newPaths),
    };
  const models = trainer
    .references(bundle.config)
    .filter(({ kind }) => kind === 'model')
    .map(({ path, at }) => ({ path, at, in: 'config' as const }));
  const changes = [...dataOf(bundle, trainer), ...models].flatMap(reference => {
    const path = newPaths.get(reference.path);
    return path === undefined ? [] : [{ ...reference, path }];
  });
  return withPaths(bundle, changes);
}

/**
 * Replaces each text that equals one of these paths, because in the config of an unknown program any text may be a
 * path.
 */
function replacePaths(value: unknown, paths: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return paths.get(value) ?? value;
  if (Array.isArray(value)) return value.map(each => replacePaths(each, paths));
  if (typeof value !== 'object' || value === null) return value;
  return replacePathsIn(value, paths);
}

const replacePathsIn = (
  value: object,
  paths: ReadonlyMap<string, string>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replacePaths(each, paths)]));

/** Copies a bundle, and replaces the placeholder of each input by the path of the fetched file or folder. */
export function withInputs<B extends Bundle>(
  bundle: B,
  inputs: NonNullable<JobOffer['inputs']>,
  jobFolder: string,
): B {
  const paths = new Map(
    inputs.map(({ name, path }) => [name, join(inputsFolderOf(jobFolder), name, ...path.split('/'))]),
  );
  return {
    ...bundle,
    config: withInputPaths(bundle.config, paths),
    dataloader: withInputPaths(bundle.dataloader, paths),
  };
}
