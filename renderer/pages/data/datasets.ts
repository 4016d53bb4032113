import type { DatasetView } from '../../../protocol/datasets-api.ts';

/** A dataset: all versions with the same name and owner. */
export interface Dataset {
  /** Unique among all datasets. */
  readonly key: string;
  readonly name: string;
  readonly owner: string;
  readonly newest: DatasetView;
  /** Newest first. */
  readonly versions: readonly DatasetView[];
  /** Number of stored jobs that use at least one of its versions. */
  readonly jobs: number;
  /** Number of its versions that are pinned. */
  readonly pinned: number;
}

/** Returns true when the server can delete the version: no job uses it, and nobody has pinned it. */
export const isUnused = ({ jobs, pinned }: DatasetView): boolean => jobs === 0 && !pinned;

/** Groups versions into datasets, sorted by their newest versions. `views` must be sorted, newest first. */
export function groupVersions(views: readonly DatasetView[]): readonly Dataset[] {
  const groups = Map.groupBy(views, ({ owner, name }) => JSON.stringify([owner, name]));
  return [...groups].flatMap(([key, versions]) => {
    const [newest] = versions;
    return newest === undefined ? [] : [toDataset(key, newest, versions)];
  });
}

function toDataset(key: string, newest: DatasetView, versions: readonly DatasetView[]): Dataset {
  const { name, owner } = newest;
  // Entries with the same version have the same files and the same jobs, so their jobs count once.
  const jobs = new Map(versions.map(view => [view.version, view.jobs]));
  return {
    key,
    name,
    owner,
    newest,
    versions,
    jobs: [...jobs.values()].reduce((sum, count) => sum + count, 0),
    pinned: versions.filter(({ pinned }) => pinned).length,
  };
}

/** Returns the dataset that has this version; undefined when there is none. */
export const datasetWith = (datasets: readonly Dataset[], id: string): Dataset | undefined =>
  datasets.find(({ versions }) => versions.some(version => String(version.id) === id));

/**
 * Returns the datasets that match every word of the search text. A word matches a part of the name or owner, or the
 * start of a version.
 */
export function matching(datasets: readonly Dataset[], text: string): readonly Dataset[] {
  const words = text
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');
  if (words.length === 0) return datasets;
  return datasets.filter(({ name, owner, versions }) =>
    words.every(
      word =>
        name.toLowerCase().includes(word) ||
        owner.toLowerCase().includes(word) ||
        versions.some(({ version }) => version.startsWith(word)),
    ),
  );
}

export interface Usage {
  readonly count: number;
  /** Sum of the sizes. This is an upper limit for the freed space, because versions may share files. */
  readonly bytes: number;
}

/** Returns the number and size of the versions that could be deleted. */
export function computeUnused(views: readonly DatasetView[], storedBytes: number): Usage {
  const unused = views.filter(isUnused);
  const bytes = unused.reduce((sum, view) => sum + view.bytes, 0);
  return { count: unused.length, bytes: Math.min(bytes, storedBytes) };
}
