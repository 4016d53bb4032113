import type { DatasetView } from '../../../protocol/datasets-api.ts';

/** All versions with the same name and owner. */
export interface Dataset {
  /** Unique among all datasets. */
  readonly key: string;
  readonly name: string;
  readonly owner: string;
  readonly newest: DatasetView;
  /** Newest first. */
  readonly versions: readonly DatasetView[];
  /** How many stored jobs use any of its versions. */
  readonly jobs: number;
  /** How many of its versions are pinned. */
  readonly pinned: number;
}

/** Returns true for a version that no job uses and nobody has pinned, so that the server can delete it. */
export const isUnused = ({ jobs, pinned }: DatasetView): boolean => jobs === 0 && !pinned;

/** Groups versions into datasets, sorted by their newest versions. `views` start with the newest one. */
export function groupVersions(views: readonly DatasetView[]): readonly Dataset[] {
  const groups = Map.groupBy(views, ({ owner, name }) => JSON.stringify([owner, name]));
  return [...groups].flatMap(([key, versions]) => {
    const [newest] = versions;
    return newest === undefined ? [] : [toDataset(key, newest, versions)];
  });
}

function toDataset(key: string, newest: DatasetView, versions: readonly DatasetView[]): Dataset {
  const { name, owner } = newest;
  // Versions with the same files have the same jobs.
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

/** Returns the datasets for which each word is part of the name or the owner, or starts a version. */
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
  /** An upper limit: files that several versions share are stored once. */
  readonly bytes: number;
}

/** Returns what could be deleted. */
export function computeUnused(views: readonly DatasetView[], storedBytes: number): Usage {
  const unused = views.filter(isUnused);
  const bytes = unused.reduce((sum, view) => sum + view.bytes, 0);
  return { count: unused.length, bytes: Math.min(bytes, storedBytes) };
}
