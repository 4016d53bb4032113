import type { ArtifactFiles, Clock, Log, Store, TrustedTime } from '../orchestrator/ports.ts';

/** Uploads of which nothing was heard for so long are given up: who comes back begins anew. */
const forgottenAfterMs = 24 * 3_600_000;
/** What could not be removed is tried again, and old uploads are looked for. */
const everyMs = 600_000;
const batch = 200;

export interface ArtifactSweep {
  /** Files were dropped. */
  soon(): void;
  /** Ends, once what it is at is done. */
  stop(): Promise<void>;
}

export interface SweepParts {
  readonly store: Pick<Store, 'write' | 'droppedFiles' | 'takesChanges' | 'uploads'>;
  readonly files: Pick<ArtifactFiles, 'remove' | 'sizeOf'>;
  /** Drops the uploads of attempts that can never finish them. */
  readonly releaseUploads: () => Promise<void>;
  readonly clock: Pick<Clock, 'after'>;
  /** Age is counted by it, so that a clock that jumps gives up nothing. */
  readonly time: Pick<TrustedTime, 'earliest'>;
  readonly log: Log;
}

/** Removes the files of what was deleted, replaced or given up. A file that can not be removed keeps none of the others. */
export function startArtifactSweep({
  store,
  files,
  releaseUploads,
  clock,
  time,
  log,
}: SweepParts): ArtifactSweep {
  let underWay: Promise<void> | null = null;
  let isWanted = false;
  let isOver = false;
  let cancel = (): void => {};

  const giveUp = async (): Promise<void> => {
    if (!store.takesChanges()) return;
    await store.write(tx => tx.removeUploads(time.earliest() - forgottenAfterMs));
    await releaseUploads();
  };
  const removeSome = async (): Promise<boolean> => {
    const dropped = store.droppedFiles(batch);
    const gone: string[] = [];
    for (const { jobId, file } of dropped) {
      try {
        await files.remove(jobId, file);
        gone.push(file);
      } catch (cause) {
        log.warn('artifact.not_removed', { job_id: jobId, file, cause });
      }
    }
    if (gone.length > 0) await store.write(tx => tx.forgetDropped(gone));
    return gone.length === batch;
  };
  const work = async (): Promise<void> => {
    while (isWanted && !isOver) {
      isWanted = false;
      try {
        while (!isOver && (await removeSome()));
      } catch (cause) {
        // A disk that takes no changes: the next round finds the same.
        log.warn('artifact.sweep_failed', { cause });
      }
    }
    underWay = null;
  };
  const soon = (): void => {
    isWanted = true;
    if (!isOver) underWay ??= work();
  };
  const round = (): void => {
    if (isOver) return;
    cancel = clock.after(everyMs, round);
    giveUp().then(soon, (cause: unknown) => log.warn('artifact.sweep_failed', { cause }));
  };
  /** Requests of the last run of this process are over: what can't be resumed goes, the rest reserves what has arrived. */
  const recount = async (): Promise<void> => {
    if (!store.takesChanges()) return;
    await store.write(tx => tx.removeUploads(null));
    for (const { jobId, attemptId, key, file, reserved } of store.uploads()) {
      const bytes = await files.sizeOf(jobId, file);
      if (bytes === reserved) continue;
      // A request that has resumed it meanwhile has reserved more, and settles that itself.
      await store.write(tx => {
        if (tx.upload(attemptId, key)?.reserved === reserved) tx.reserveUpload(file, bytes);
      });
    }
  };
  recount()
    .catch((cause: unknown) => log.warn('artifact.sweep_failed', { cause }))
    .then(round, round);
  return {
    soon,
    async stop() {
      isOver = true;
      cancel();
      await underWay;
    },
  };
}
