import type { DatasetFile } from '../../../../protocol/dataset.ts';
import type { DatasetView } from '../../../../protocol/datasets-api.ts';
import type { JobId, WorkerId } from '../../../../protocol/ids.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { Core } from '../../core.ts';
import { type Actor, nameOf, system } from '../../model.ts';
import type { AuditType } from '../../events.ts';
import type { DatasetFilter, Read, StoredContent, StoredVersion, Tx } from '../../ports/index.ts';
import { sizeText } from '../../../../protocol/text.ts';

/** A checked manifest that is to become a version. */
export interface Publication {
  readonly name: string;
  /** The SHA-256 of the manifest, which is stored as a content itself. */
  readonly version: string;
  readonly files: readonly DatasetFile[];
  readonly isPinned: boolean;
}

export interface VersionChoice {
  /** Also older versions, not only the newest of each dataset. */
  readonly all: boolean;
  /** Only versions that the rig of this worker has; null for all. */
  readonly workerId: WorkerId | null;
}

/** The versions to prune. Those that a job uses and those that are pinned always stay. */
export type PruneChoice =
  | { readonly kind: 'older' }
  /** All versions of these datasets. */
  | { readonly kind: 'names'; readonly names: readonly string[] }
  | { readonly kind: 'versions'; readonly ids: readonly number[] };

export interface PruneWish {
  readonly which: PruneChoice;
  readonly isDryRun: boolean;
  /** Whose datasets; null for everybody's. */
  readonly owner: string | null;
}

interface Pruned {
  readonly removed: readonly DatasetView[];
  /** The size of contents that no other version has. */
  readonly freedBytes: number;
}

/** An older version that nothing needs stays this long: a job may be about to be submitted with it. */
const keptForMs = 24 * 3_600_000;

/** How many contents one transaction lists, so that others can run in between. */
const batchSize = 2_000;

const unknown = (id: number) => refuse('dataset_not_found', `There is no dataset version ${id}`);

/** Datasets and their contents. Other code stores the bytes. */
export const createDatasetCalls = (core: Core, limitBytes: number) => ({
  ...createReading(core, limitBytes),
  ...createPublishing(core),
  ...createKeeping(core),
});

interface DatasetList {
  readonly datasets: readonly DatasetView[];
  readonly storedBytes: number;
  /** Null for no limit. */
  readonly limitBytes: number | null;
}

/** Null when there is no such worker. */
function chosenBy(
  read: Read,
  { all, workerId }: VersionChoice,
): ((version: StoredVersion) => boolean) | null {
  if (workerId === null) return ({ isNewest }) => all || isNewest;
  const worker = read.worker(workerId);
  if (worker === null) return null;
  const onRig = new Set(worker.agent?.datasets);
  return ({ digest }) => onRig.has(digest);
}

function createReading(core: Core, limitBytes: number) {
  const { store } = core;
  return {
    /** Newest first. */
    datasets(filter: DatasetFilter, choice: VersionChoice): Outcome<DatasetList> {
      const isChosen = chosenBy(store, choice);
      if (isChosen === null) return refuse('worker_not_found', `There is no worker ${choice.workerId}`);
      return accept({
        datasets: store
          .datasetVersions(filter)
          .filter(isChosen)
          .map(version => viewOf(core, version)),
        storedBytes: store.contentBytes(),
        limitBytes: limitBytes === 0 ? null : limitBytes,
      });
    },

    storedContents: (sha256s: readonly string[]): readonly StoredContent[] => store.storedContents(sha256s),

    /** What the worker of a job may read: the files and manifests of its datasets. */
    contentOfJob: (job: JobId, sha256: string): Outcome<StoredContent> => {
      const found = store.contentOfJob(job, sha256);
      return found === null
        ? refuse('content_not_found', `Job ${job} has no data with the SHA-256 ${sha256}`)
        : accept(found);
    },

    /** Whether there is room for a content of this size, in addition to the uploads in progress. */
    roomForContent(bytes: number, onTheWay: number): Outcome<null> {
      const stored = store.contentBytes();
      if (limitBytes === 0 || stored + onTheWay + bytes <= limitBytes) return accept(null);
      return refuse(
        'quota_exceeded',
        `A file of ${sizeText(bytes)} does not fit: datasets and unfinished uploads use ${sizeText(stored + onTheWay)} of ${sizeText(limitBytes)}. Remove some with "trainyard data prune", or raise --datasets-in-all`,
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

    /** Makes a version, unless the newest version of that name is the same. Every content must be stored already. */
    async publishDataset(
      { name, version: digest, files, isPinned }: Publication,
      by: Actor,
    ): Promise<Outcome<DatasetView>> {
      const owner = nameOf(by);
      const again = await store.write(tx => sameAsNewest(tx, { owner, name }, digest, isPinned));
      if (again !== null) return accept(viewOf(core, again));
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
      const createdAt = time.latest();
      const row = { owner, name, digest, files: files.length, bytes, createdAt, isPinned };
      const id = await store.write(tx => tx.insertDatasetVersion(row));
      const contents = [...new Set([digest, ...files.map(({ sha256 }) => sha256)])];
      for (let at = 0; at < contents.length; at += batchSize) {
        const some = contents.slice(at, at + batchSize);
        const listed = await store.write(tx => tx.addDatasetContents(id, some));
        if (listed === some.length) continue;
        await store.write(tx => tx.dropDatasetVersion(id));
        return refuse(
          'content_not_found',
          `${some.length - listed} files of the dataset are not stored: upload the missing files, then publish it again`,
        );
      }
      const made = await store.write(tx => {
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
      return made === null ? unknown(id) : accept(viewOf(core, made));
    },
  };
}

/** The newest version of a dataset if it has these files. Pins it if `isPinned`. */
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
    /** `owner`: whose datasets may be changed; null for everybody's. */
    pinDataset: (
      id: number,
      isPinned: boolean,
      owner: string | null,
      by: Actor,
    ): Promise<Outcome<DatasetView>> =>
      store.write((tx): Outcome<DatasetView> => {
        const version = tx.datasetVersion(id);
        if (version === null || (owner !== null && version.owner !== owner)) return unknown(id);
        if (version.isPinned !== isPinned) {
          tx.setDatasetPin(id, isPinned);
          note(core, tx, isPinned ? 'dataset.pinned' : 'dataset.unpinned', version, by);
        }
        return accept(viewOf(core, { ...version, isPinned }));
      }),

    /** Returns the removed versions and the freed bytes. A dry run returns what would be removed and freed. */
    pruneDatasets: ({ which, isDryRun, owner }: PruneWish, by: Actor): Promise<Pruned> =>
      store.write(tx => {
        const versions = tx
          .datasetVersions({ owner, name: null })
          .filter(version => version.jobs === 0 && !version.isPinned && isToPrune(which, version));
        const freedBytes = tx.bytesOnlyIn(versions.map(({ id }) => id));
        for (const version of isDryRun ? [] : versions) remove(core, tx, version, by);
        return { removed: versions.map(version => viewOf(core, version)), freedBytes };
      }),

    /** Removes older versions that no job and no pin keeps. */
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
