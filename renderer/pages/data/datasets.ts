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

/** The server deletes these on request: no job uses them, and nobody has pinned them. */
export const isUnused = ({ jobs, pinned }: DatasetView): boolean => jobs === 0 && !pinned;

/** In the order of their newest versions. `views` start with the newest one. */
export function datasetsOf(views: readonly DatasetView[]): readonly Dataset[] {
  const groups = Map.groupBy(views, ({ owner, name }) => JSON.stringify([owner, name]));
  return [...groups].flatMap(([key, versions]) => {
    const [newest] = versions;
    return newest === undefined ? [] : [datasetOf(key, newest, versions)];
  });
}

function datasetOf(key: string, newest: DatasetView, versions: readonly DatasetView[]): Dataset {
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

/** The dataset that has this version; undefined when there is none. */
export const datasetWith = (datasets: readonly Dataset[], id: string): Dataset | undefined =>
  datasets.find(({ versions }) => versions.some(version => String(version.id) === id));

/** Each word is part of the name or the owner, or starts a version. */
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
  /** At most this many: files that several versions share are stored once. */
  readonly bytes: number;
}

/** What could be deleted. */
export function unusedOf(views: readonly DatasetView[], storedBytes: number): Usage {
  const unused = views.filter(isUnused);
  const bytes = unused.reduce((sum, view) => sum + view.bytes, 0);
  return { count: unused.length, bytes: Math.min(bytes, storedBytes) };
}
