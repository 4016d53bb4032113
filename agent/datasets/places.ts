import type { DataPlace, JobOffer } from '../job.ts';
import { basename, join } from 'node:path';
import type { JobData } from '../../protocol/dataset.ts';
import { type Bundle, dataOf, trainerFor, withPaths } from '../../trainers/index.ts';

/** Returns the folder with the datasets of a job. */
export const dataFolderOf = (jobFolder: string): string => join(jobFolder, 'data');

/**
 * Returns the name of the job's folder in the work folder. Workers that train a job together may share a work folder, so all but the
 * first add their rank. No id contains a dot.
 */
export const folderNameOf = ({ job_id: jobId, node }: Pick<JobOffer, 'job_id' | 'node'>): string =>
  node === undefined || node.rank === 0 ? jobId : `${jobId}.node-${node.rank}`;

/** Returns the id of the job to which a folder in the work folder belongs. */
export const jobOfFolder = (name: string): string => name.replace(/\..*$/, '');

/** Returns the folder of the cache. It is on the same disk as the jobs, so that they can link its files. */
export const cacheFolderOf = (workDir: string): string => join(workDir, '.data-cache');

/** Returns the last name in a path of any operating system; `data` if there is none. */
function lastName(path: string): string {
  const name = basename(path.replaceAll('\\', '/'));
  return name === '' || name === '.' || name === '..' ? 'data' : name;
}

export const placesOf = (data: readonly JobData[], jobFolder: string): readonly DataPlace[] =>
  data.map((each, index) => {
    const name = lastName(each.path);
    const folder = join(dataFolderOf(jobFolder), each.is_file ? String(index) : `${index}-${name}`);
    return { data: each, folder, path: each.is_file ? join(folder, name) : folder };
  });

/** Copies a bundle, and replaces the path of each dataset by the path of the fetched data. */
export function withPlaces(bundle: Bundle, places: readonly DataPlace[]): Bundle {
  const newPaths = new Map(places.map(({ data, path }) => [data.path, path]));
  if (newPaths.size === 0) return bundle;
  const trainer = trainerFor(bundle.config);
  if (trainer.name === 'command')
    return {
      ...bundle,
      config: valuesReplaced(bundle.config, newPaths),
      dataloader: replaced(bundle.dataloader, newPaths),
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

/** Replaces each text that equals one of these paths, because in the config of an unknown program any text may be a path. */
function replaced(value: unknown, paths: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return paths.get(value) ?? value;
  if (Array.isArray(value)) return value.map(each => replaced(each, paths));
  if (typeof value !== 'object' || value === null) return value;
  return valuesReplaced(value, paths);
}

const valuesReplaced = (
  value: object,
  paths: ReadonlyMap<string, string>,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaced(each, paths)]));
