import type { ArtifactFiles, Clock, Log, Store, TrustedTime } from '../../orchestrator/ports/index.ts';

/** Time in ms without activity after which an upload is dropped. A client that returns later starts over. */
const forgottenAfterMs = 24 * 3_600_000;
/** Interval in ms for retrying failed removals and dropping old uploads. */
const everyMs = 600_000;
const batchSize = 200;

export interface ArtifactSweep {
  /** Starts a sweep. Call it after files were dropped. */
  soon(): void;
  /** Stops the sweep. Resolves after the current step. */
  stop(): Promise<void>;
}

export interface SweepDeps {
  readonly store: Pick<Store, 'write' | 'droppedFiles' | 'acceptsWrites' | 'uploads'>;
  readonly files: Pick<ArtifactFiles, 'remove' | 'sizeOf'>;
  /** Drops the uploads of attempts that can no longer finish them. */
  readonly releaseUploads: () => Promise<void>;
  readonly clock: Pick<Clock, 'after'>;
  /** Measures age with trusted time, so that a clock jump drops nothing. */
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
}

/**
 * Starts to remove the files of deleted, replaced and abandoned uploads. A file that cannot be removed does not block the others.
 */
export function startArtifactSweep({
  store,
  files,
  releaseUploads,
  clock,
  time,
  log,
}: SweepDeps): ArtifactSweep {
  let running: Promise<void> | null = null;
  let isWanted = false;
  let isOver = false;
  let cancel = (): void => {};

  const dropOldUploads = async (): Promise<void> => {
    if (!store.acceptsWrites()) return;
    await store.write(tx => tx.removeUploads(time.earliest() - forgottenAfterMs));
    await releaseUploads();
  };
  /** Returns true if there may be more files to remove. */
  const removeSome = async (): Promise<boolean> => {
    const dropped = store.droppedFiles(batchSize);
    const removed: string[] = [];
    for (const { jobId, file } of dropped) {
      try {
        await files.remove(jobId, file);
        removed.push(file);
      } catch (cause) {
        log.warn('artifact.not_removed', { job_id: jobId, file, cause });
      }
    }
    if (removed.length > 0) await store.write(tx => tx.forgetDropped(removed));
    return removed.length === batchSize;
  };
  const work = async (): Promise<void> => {
    while (isWanted && !isOver) {
      isWanted = false;
      try {
        let hasMore = true;
        while (hasMore && !isOver) hasMore = await removeSome();
      } catch (cause) {
        // The database may be rejecting writes. The next round retries.
        log.warn('artifact.sweep_failed', { cause });
      }
    }
    running = null;
  };
  const soon = (): void => {
    isWanted = true;
    if (!isOver) running ??= work();
  };
  const round = (): void => {
    if (isOver) return;
    cancel = clock.after(everyMs, round);
    dropOldUploads().then(soon, (cause: unknown) => log.warn('artifact.sweep_failed', { cause }));
  };
  /**
   * Cleans up after the requests of the previous process. Removes uploads that cannot be resumed. Sets the reserved space of the
   * other uploads to the bytes that have arrived.
   */
  const recountReserved = async (): Promise<void> => {
    if (!store.acceptsWrites()) return;
    await store.write(tx => tx.removeUploads(null));
    for (const { jobId, attemptId, key, file, reserved } of store.uploads()) {
      const bytes = await files.sizeOf(jobId, file);
      if (bytes === reserved) continue;
      // If a request has resumed the upload since, `reserved` differs, and that request will adjust it.
      await store.write(tx => {
        if (tx.upload(attemptId, key)?.reserved === reserved) tx.reserveUpload(file, bytes);
      });
    }
  };
  recountReserved()
    .catch((cause: unknown) => log.warn('artifact.sweep_failed', { cause }))
    .then(round, round);
  return {
    soon,
    async stop() {
      isOver = true;
      cancel();
      await running;
    },
  };
}
