import { stat } from 'node:fs/promises';
import type { ContentFiles, Locks } from '../../../datasets/content-files.ts';
import type { Clock, Log, Store, StoredContent, TrustedTime } from '../../orchestrator/ports/index.ts';

/** Time in ms for which contents that no dataset lists, and partial uploads without progress, are kept. */
const unlistedForMs = 24 * 3_600_000;
/** Time in ms after which a version that is still incomplete counts as abandoned. */
const incompleteForMs = 3_600_000;
const everyMs = 600_000;
const batchSize = 500;

export interface ContentSweep {
  /** Starts a sweep. Call it after dataset versions were removed. */
  soon(): void;
  /** Stops the sweep. Resolves after the current step. */
  stop(): Promise<void>;
}

export interface ContentSweepDeps {
  readonly store: Pick<Store, 'write' | 'droppedContents' | 'storedContents' | 'acceptsWrites'>;
  readonly files: ContentFiles;
  /** The locks, shared with the code that stores contents. */
  readonly locks: Locks;
  /** Removes dataset versions that are no longer needed. */
  readonly collect: () => Promise<unknown>;
  readonly clock: Pick<Clock, 'after'>;
  readonly time: Pick<TrustedTime, 'earliest' | 'latest'>;
  readonly log: Log;
}

/**
 * Starts to remove contents that no dataset lists. Registers files that are missing in the database, so that they are removed a
 * day later.
 */
export function startContentSweep(deps: ContentSweepDeps): ContentSweep {
  const { store, files, collect, clock, time, log } = deps;
  let isOver = false;
  let cancel = (): void => {};

  const dropAbandoned = async (): Promise<void> => {
    await collect();
    await store.write(tx => tx.removeIncompleteVersions(time.earliest() - incompleteForMs));
    await files.removePartials(time.earliest() - unlistedForMs);
  };

  /** Repeats `removeSome`, which returns the number of removed contents, until a batch is not full. */
  const repeatWhileFull = async (removeSome: () => Promise<number>): Promise<void> => {
    let removed = batchSize;
    while (removed === batchSize && !isOver) removed = await removeSome();
  };

  const removeDropped = async (): Promise<void> => {
    const before = time.earliest() - unlistedForMs;
    await repeatWhileFull(() => store.write(tx => tx.removeUnlistedContents(before, batchSize)));
    await repeatWhileFull(async () => {
      const removed: string[] = [];
      for (const sha256 of store.droppedContents(batchSize))
        if (await removeContent(deps, sha256)) removed.push(sha256);
      if (removed.length > 0) await store.write(tx => tx.forgetContents(removed));
      return removed.length;
    });
  };

  /** Registers files that are missing in the database after a crash or the restore of a backup. */
  const registerUnknown = async (): Promise<void> => {
    let batch: string[] = [];
    const registerBatch = async (): Promise<void> => {
      const registered = new Set(store.storedContents(batch).map(({ sha256 }) => sha256));
      const unknown: StoredContent[] = [];
      for (const sha256 of batch.filter(each => !registered.has(each)))
        unknown.push({ sha256, bytes: (await stat(files.pathOf(sha256))).size });
      batch = [];
      if (unknown.length === 0) return;
      await store.write(tx => {
        for (const content of unknown) tx.putContent(content, time.latest());
      });
    };
    for await (const sha256 of files.all()) {
      if (isOver) return;
      batch.push(sha256);
      if (batch.length === batchSize) await registerBatch();
    }
    await registerBatch();
  };

  /** Runs tasks one at a time. */
  let queue: Promise<void> = Promise.resolve();
  const enqueue = (act: () => Promise<void>): void => {
    queue = queue
      .then(async () => {
        if (!isOver && store.acceptsWrites()) await act();
      })
      .catch((cause: unknown) => log.warn('content.sweep_failed', { cause }));
  };
  const round = (): void => {
    enqueue(dropAbandoned);
    enqueue(removeDropped);
    void queue.then(() => {
      if (!isOver) cancel = clock.after(everyMs, round);
    });
  };
  enqueue(registerUnknown);
  round();
  return {
    soon: () => enqueue(removeDropped),
    async stop() {
      isOver = true;
      cancel();
      await queue;
    },
  };
}

/** Removes a content from the disk. Returns false if it is in use or cannot be removed. */
async function removeContent(
  { store, files, locks, log }: ContentSweepDeps,
  sha256: string,
): Promise<boolean> {
  const release = locks.acquire(sha256);
  if (release === null) return false;
  try {
    // A client may have uploaded the content again.
    if (store.storedContents([sha256]).length === 0) await files.remove(sha256);
    return true;
  } catch (cause) {
    log.warn('content.not_removed', { sha256, cause });
    return false;
  } finally {
    release();
  }
}
