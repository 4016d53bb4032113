import type { DatasetFile } from '../../../../protocol/dataset.ts';
import type { DatasetView } from '../../../../protocol/datasets-api.ts';
import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import { type Actor, nameOf, system } from '../../model.ts';
import type { AuditType } from '../../events.ts';
import type { DatasetFilter, Read, StoredContent, StoredVersion, Tx } from '../../ports/index.ts';
import { sizeText } from '../../../../protocol/text.ts';

/** A validated manifest that will become a version of a dataset. */
export interface Publication {
  readonly name: string;
  /** SHA-256 of the manifest. Manifests and files are stored as contents: bytes that their SHA-256 identifies. */
  readonly version: string;
  readonly files: readonly DatasetFile[];
  readonly isPinned: boolean;
}

export interface VersionChoice {
  /** If true, includes older versions. Otherwise only the newest version of each dataset. Ignored with `workerId`. */
  readonly all: boolean;
  /** Includes all versions on the rig of this worker, and no others; null for the versions that `all` selects. */
  readonly workerId: WorkerId | null;
  /** Whether the list names the workers that have each version. */
  readonly withWorkers: boolean;
}

/** The versions to prune. Versions that a job uses, and pinned versions, always stay. */
export type PruneChoice =
  /** All versions except the newest of each dataset. */
  | { readonly kind: 'older' }
  /** All versions of the named datasets. */
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'versions'; readonly ids: readonly number[] };

export interface PruneRequest {
  readonly which: PruneChoice;
  readonly isDryRun: boolean;
  /** Owner of the datasets; null for all owners. */
  readonly owner: string | null;
}

interface Pruned {
  readonly removed: readonly DatasetView[];
  /** Total size in bytes of the contents that only the removed versions had. */
  readonly freedBytes: number;
}

/** Time in ms for which unused older versions stay, because a job with such a version may be submitted soon. */
const keptForMs = 24 * 3_600_000;

/** Number of contents that one transaction adds to a version, so that other transactions do not wait for long. */
const batchSize = 2_000;

const unknownVersion = (id: number) => refuse('dataset_not_found', `There is no dataset version ${id}`);

/** Calls about datasets and their contents. They change only the database: other code writes and removes the files. */
export const createDatasetCalls = (core: Core, limitBytes: number) => ({
  ...createReading(core, limitBytes),
  ...createPublishing(core),
  ...createKeeping(core),
});

interface DatasetList {
  readonly datasets: readonly DatasetView[];
  readonly storedBytes: number;
  /** In bytes; null for no limit. */
  readonly limitBytes: number | null;
}

/** Returns the filter for a choice; null when the chosen worker does not exist. */
function chosenBy(
  read: Read,
  { all, workerId }: Omit<VersionChoice, 'withWorkers'>,
): ((version: StoredVersion) => boolean) | null {
  if (workerId === null) return ({ isNewest }) => all || isNewest;
  const worker = read.worker(workerId);
  if (worker === null) return null;
  const onRig = new Set(worker.agent?.datasets);
  return ({ digest }) => onRig.has(digest);
}

/** Maximum number of workers that a list names for each version. */
const maxNamedWorkers = 20;

/** Returns a function that returns the workers with a version on their rig. */
function createWorkersWith(read: Read): (digest: string) => Pick<DatasetView, 'workers' | 'workers_count'> {
  const namesByDigest = new Map<string, string[]>();
  for (const { name, agent } of read.workers())
    for (const digest of agent?.datasets ?? []) {
      const names = namesByDigest.get(digest);
      if (names === undefined) namesByDigest.set(digest, [name]);
      else names.push(name);
    }
  return digest => {
    const names = namesByDigest.get(digest) ?? [];
    return { workers: names.slice(0, maxNamedWorkers), workers_count: names.length };
  };
}

function createReading(core: Core, limitBytes: number) {
  const { store } = core;
  return {
    /** Lists dataset versions, newest first. */
    datasets(filter: DatasetFilter, choice: VersionChoice): Outcome<DatasetList> {
      const isChosen = chosenBy(store, choice);
      if (isChosen === null) return refuse('worker_not_found', `There is no worker ${choice.workerId}`);
      const workersWith = choice.withWorkers ? createWorkersWith(store) : () => ({});
      return accept({
        datasets: store
          .datasetVersions(filter)
          .filter(isChosen)
          .map(version => ({ ...viewOf(core, version), ...workersWith(version.digest) })),
        storedBytes: store.contentBytes(),
        limitBytes: limitBytes === 0 ? null : limitBytes,
      });
    },

    storedContents: (sha256s: readonly string[]): readonly StoredContent[] => store.storedContents(sha256s),

    /** Returns a content that the worker of a job may read: a file or a manifest of one of the job's datasets. */
    contentOfJob: (job: JobId, sha256: string): Outcome<StoredContent> => {
      const content = store.contentOfJob(job, sha256);
      return content === null
        ? refuse('content_not_found', `Job ${job} has no data with the SHA-256 ${sha256}`)
        : accept(content);
    },

    /** Refuses a content of this size if it exceeds the limit, together with stored contents and uploads in progress. */
    roomForContent(bytes: number, uploadingBytes: number): Outcome<null> {
      const usedBytes = store.contentBytes() + uploadingBytes;
      if (limitBytes === 0 || usedBytes + bytes <= limitBytes) return accept(null);
      return refuse(
        'quota_exceeded',
        `A file of ${sizeText(bytes)} does not fit: datasets and unfinished uploads use ${sizeText(usedBytes)} of ${sizeText(limitBytes)}. Remove some with "trainyard data prune", or raise --datasets-in-all`,
      );
    },
  };
}

function createPublishing(core: Core) {
  const { store, time } = core;
  return {
    /** Records a content whose bytes are on the disk. */
    contentStored: (content: StoredContent): Promise<void> =>
      store.write(tx => tx.putContent(content, time.latest())),

    /**
     * Publishes a version of a dataset. If the newest version has the same manifest, returns that version instead. Refused
     * if a content is not stored.
     */
    async publishDataset(
      { name, version: digest, files, isPinned }: Publication,
      by: Actor,
    ): Promise<Outcome<DatasetView>> {
      const owner = nameOf(by);
      const existing = await store.write(tx => sameAsNewest(tx, { owner, name }, digest, isPinned));
      if (existing !== null) return accept(viewOf(core, existing));
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      const createdAt = time.latest();
      const row = { owner, name, digest, files: files.length, bytes, createdAt, isPinned };
      const id = await store.write(tx => tx.insertDatasetVersion(row));
      const contents = [...new Set([digest, ...files.map(({ sha256 }) => sha256)])];
      for (let start = 0; start < contents.length; start += batchSize) {
        const batch = contents.slice(start, start + batchSize);
        const storedCount = await store.write(tx => tx.addDatasetContents(id, batch));
        if (storedCount === batch.length) continue;
        await store.write(tx => tx.dropDatasetVersion(id));
        return refuse(
          'content_not_found',
          `${batch.length - storedCount} files of the dataset are not stored: upload the missing files, then publish it again`,
        );
      }
      const published = await store.write(tx => {
        // Another call may have published the same version since the first check.
        const earlier = sameAsNewest(tx, { owner, name }, digest, isPinned);
        if (earlier !== null) {
          tx.dropDatasetVersion(id);
          return earlier;
        }
        tx.completeDatasetVersion(id);
        const version = tx.datasetVersion(id);
        if (version !== null) note(core, tx, 'dataset.pushed', version, by);
        return version;
      });
      return published === null ? unknownVersion(id) : accept(viewOf(core, published));
    },
  };
}

/** Returns the newest version of a dataset if it has this digest; null otherwise. Pins it if `isPinned` is true. */
function sameAsNewest(
  tx: Tx,
  filter: DatasetFilter,
  digest: string,
  isPinned: boolean,
): StoredVersion | null {
  const same = tx.datasetWith(digest, filter);
  if (same === null || !same.isNewest) return null;
  if (isPinned) tx.setDatasetPin(same.id, true);
  return tx.datasetVersion(same.id);
}

function createKeeping(core: Core) {
  const { store } = core;
  return {
    /** Pins or unpins a version. `owner`: the owner whose datasets the caller may change; null for all owners. */
    pinDataset: (
      id: number,
      isPinned: boolean,
      owner: string | null,
      by: Actor,
    ): Promise<Outcome<DatasetView>> =>
      store.write((tx): Outcome<DatasetView> => {
        const version = tx.datasetVersion(id);
        if (version === null || (owner !== null && version.owner !== owner)) return unknownVersion(id);
        if (version.isPinned !== isPinned) {
          tx.setDatasetPin(id, isPinned);
          note(core, tx, isPinned ? 'dataset.pinned' : 'dataset.unpinned', version, by);
        }
        return accept(viewOf(core, { ...version, isPinned }));
      }),

    /** Removes versions, and returns them with the freed bytes. A dry run only returns what it would remove. */
    pruneDatasets: ({ which, isDryRun, owner }: PruneRequest, by: Actor): Promise<Pruned> =>
      store.write(tx => {
        const versions = tx
          .datasetVersions({ owner, name: null })
          .filter(version => version.jobs === 0 && !version.isPinned && isToPrune(which, version));
        const freedBytes = tx.bytesOnlyIn(versions.map(({ id }) => id));
        for (const version of isDryRun ? [] : versions) remove(core, tx, version, by);
        return { removed: versions.map(version => viewOf(core, version)), freedBytes };
      }),

    /** Removes older versions that are not pinned, that no job uses, and that are older than 24 hours. */
    collectDatasets: (): Promise<void> =>
      store.write(tx => {
        const before = core.time.earliest() - keptForMs;
        for (const version of tx.datasetVersions({ owner: null, name: null }))
          if (version.jobs === 0 && !version.isPinned && !version.isNewest && version.createdAt < before)
            remove(core, tx, version, system);
      }),
  };
}

function isToPrune(which: PruneChoice, { id, name, isNewest }: StoredVersion): boolean {
  switch (which.kind) {
    case 'older':
      return !isNewest;
    case 'names':
      return which.names.includes(name);
    case 'versions':
      return which.ids.includes(id);
  }
}

function remove(core: Core, tx: Tx, version: StoredVersion, by: Actor): void {
  tx.removeDatasetVersion(version.id);
  tx.afterCommit(core.onFilesDropped);
  note(core, tx, 'dataset.removed', version, by);
}

function note(core: Core, tx: Tx, type: AuditType, version: StoredVersion, actor: Actor): void {
  const { id, owner, name, digest, files, bytes } = version;
  const details = { id, owner, version: digest, files, bytes };
  tx.appendAudit({ at: core.clock.wall(), type, actor, target: { type: 'dataset', id: name }, details });
}

const viewOf = ({ clock }: Core, version: StoredVersion): DatasetView => ({
  id: version.id,
  name: version.name,
  owner: version.owner,
  version: version.digest,
  files: version.files,
  bytes: version.bytes,
  created_at: clock.iso(version.createdAt),
  pinned: version.isPinned,
  jobs: version.jobs,
  newest: version.isNewest,
});
