import type { AttemptId } from '../../protocol/ids.ts';
import {
  type AttemptNote,
  type AttemptNotes,
  type AttemptNotesFolders,
  openAttemptNotes,
} from './attempt-notes.ts';
import { pause } from '../retry/retry.ts';
import {
  type ArtifactUploader,
  type ArtifactUploaderDeps,
  createArtifactUploader,
} from './artifact-uploader.ts';
import { openEventImages } from './event-images/index.ts';
import type { Output } from './outputs.ts';
import { createAttemptSaves, type Saved } from './attempt-saves.ts';
import { openStorage, type StorageDeps } from './storage.ts';
import type { JobOffer, PreparedJob } from '../job.ts';

/** The outputs that the agent uploads. */
export type UploadedOutputs = 'all' | 'checkpoints' | 'none';

/**
 * Uploads the files that this rig's trainers write. Uploads start while the trainer runs. After a completed attempt,
 * the uploads continue as long as the server accepts files, even while the next job runs. Notes on disk let the agent's
 * next process continue the uploads.
 */
export interface AttemptOutputs {
  /**
   * Starts to upload an attempt's outputs. The trainer must not start before this resolves, because files written
   * before then count as outputs of earlier attempts.
   */
  follow(offer: JobOffer, job: Pick<PreparedJob, 'outputDir' | 'samplesAreFiles'>): Promise<void>;
  /**
   * Call when the trainer has ended. Uploads continue only after a completed attempt. Returns whether files may still
   * have to be uploaded. The note of the attempt stays on disk until its uploads are done or the orchestrator closes
   * them.
   */
  finish(attemptId: AttemptId, isCompleted: boolean): boolean;
  /**
   * Call when the trainer has ended without completing the job, before the attempt's end is reported. Resolves when the
   * uploads are done, or after `withinMs`. `preempted`: uploads the attempt's checkpoints, because the job will be
   * retried. `killed`: like `preempted`, but skips checkpoints that the trainer may have been writing. `stopped`:
   * uploads only event files of TensorBoard, because the job will not be retried.
   */
  rescue(attemptId: AttemptId, withinMs: number, end?: 'preempted' | 'killed' | 'stopped'): Promise<void>;
  /**
   * Call when the trainer will be stopped soon. From now on, uploads only the attempt's checkpoints, each as soon as it
   * is complete. Returns false when this attempt has no uploads.
   */
  hasten(attemptId: AttemptId): boolean;
  /** Returns whether a checkpoint of the attempt is completely uploaded, and whether it was written after `hasten`. */
  saved(attemptId: AttemptId): Saved;
  /**
   * Returns how long it takes to write and upload a checkpoint, in ms: the maximum of the recent saves; null before the
   * first save.
   */
  saveMs(): number | null;
  /**
   * Continues the uploads that earlier processes of the agent started. `live`: the attempt whose trainer may still run.
   */
  resume(live: AttemptId | null): void;
  /** Resolves when all files of completed attempts are uploaded, after `withinMs`, or when `hurry` fires. */
  leave(withinMs: number, hurry: AbortSignal): Promise<void>;
}

export interface AttemptOutputsDeps
  extends StorageDeps,
    AttemptNotesFolders,
    Pick<ArtifactUploaderDeps, 'random' | 'log' | 'signal' | 'sizes'> {
  readonly which: UploadedOutputs;
  /** ms since 1970. */
  readonly wall: () => number;
}

interface BeginOptions {
  /** When the attempt started, in ms since 1970; null when an earlier process started it. */
  readonly startedAt: number | null;
  readonly extractsImages: boolean;
  /** Whether the attempt's trainer may still run. */
  readonly isLive: boolean;
}

/** The maximum number of attempts with pending uploads. If there are more, the agent drops the oldest. */
const maxNotes = 200;

export function createAttemptOutputs(deps: AttemptOutputsDeps): AttemptOutputs {
  const { clock, which, wall, log } = deps;
  const notes = openAttemptNotes(deps);
  const { uploaders, finished, saves, storedOf, begin, finish } = createUploaders(deps, notes);

  /** Drops the oldest attempts beyond `maxNotes`, including those of earlier processes. */
  const dropOldest = (): void => {
    for (const attemptId of notes.list().slice(0, -maxNotes)) {
      log(
        `The files of attempt ${attemptId} are no longer uploaded, because ${maxNotes} later attempts wait for uploads`,
      );
      uploaders.get(attemptId)?.stop();
      notes.forget(attemptId);
    }
  };

  return {
    async follow(offer, { outputDir, samplesAreFiles }) {
      const { attempt_id: attemptId, upload_endpoint: endpoint, upload_token: token } = offer;
      if (which === 'none' || token === undefined || token === '') return;
      const startedAt = wall();
      const note: AttemptNote = { endpoint, token, outputDir, startedAt };
      try {
        notes.write(attemptId, note);
        dropOldest();
      } catch {
        // The disk is full. This process still uploads the files, but a later process would not continue.
      }
      await begin(attemptId, note, { startedAt, extractsImages: !samplesAreFiles, isLive: true });
    },
    finish,
    async rescue(attemptId, withinMs, end = 'preempted') {
      const uploader = uploaders.get(attemptId);
      if (uploader === undefined) return;
      if (end === 'stopped' && which !== 'all') return uploader.stop();
      uploader.finish(end);
      const allDone = new AbortController();
      void uploader.done.then(() => allDone.abort());
      await pause(clock, withinMs, allDone.signal);
      uploader.stop();
    },
    hasten(attemptId) {
      const uploader = uploaders.get(attemptId);
      if (uploader === undefined) return false;
      saves.hasten(attemptId);
      uploader.hasten();
      return true;
    },
    saved: attemptId => saves.saved(attemptId, storedOf(attemptId)),
    saveMs: saves.saveMs,
    resume(running) {
      notes.dropStrayImages();
      for (const attemptId of notes.list()) {
        const note = notes.read(attemptId);
        if (note === null || which === 'none') {
          notes.forget(attemptId);
          continue;
        }
        void begin(attemptId, note, { startedAt: null, extractsImages: true, isLive: attemptId === running });
        // The attempt may not have completed. In that case, the orchestrator rejects the uploads.
        if (attemptId !== running) finish(attemptId, true);
      }
    },
    async leave(withinMs, hurry) {
      const allDone = new AbortController();
      void Promise.all([...finished].map(({ done }) => done)).then(() => allDone.abort());
      await pause(clock, withinMs, AbortSignal.any([allDone.signal, hurry]));
    },
  };
}

/** The uploads of attempts, each with its own uploader. */
function createUploaders(deps: AttemptOutputsDeps, notes: AttemptNotes) {
  const { which, wall } = deps;
  const uploaders = new Map<AttemptId, ArtifactUploader>();
  const finished = new Set<ArtifactUploader>();
  const saves = createAttemptSaves(wall);
  /** The uploader of the trainer that started last, even after its uploads have ended. */
  let live: { readonly attemptId: AttemptId; readonly uploader: ArtifactUploader } | null = null;

  const begin = (
    attemptId: AttemptId,
    note: AttemptNote,
    { startedAt, extractsImages, isLive }: BeginOptions,
  ) => {
    const { outputDir, startedAt: notedStart, ...location } = note;
    if (which === 'none' || uploaders.has(attemptId)) return Promise.resolve();
    const storage = openStorage(location, deps);
    const source = { outputDir, folder: notes.imagesOf(attemptId), isNew: startedAt !== null };
    const images = which === 'all' && extractsImages ? openEventImages(source) : null;
    const onCheckpoint = saves.begin(attemptId, notedStart ?? wall());
    const uploader = createArtifactUploader({
      ...deps,
      which,
      storage,
      root: outputDir,
      images,
      startedAt,
      onCheckpoint,
    });
    uploaders.set(attemptId, uploader);
    if (isLive) live = { attemptId, uploader };
    void uploader.done.then(isComplete => {
      uploaders.delete(attemptId);
      finished.delete(uploader);
      if (isComplete) notes.forget(attemptId);
    });
    return images?.ready ?? Promise.resolve();
  };

  const finish = (attemptId: AttemptId, isCompleted: boolean): boolean => {
    const uploader = uploaders.get(attemptId);
    if (uploader === undefined) return false;
    if (isCompleted) {
      finished.add(uploader);
      uploader.finish('completed');
    } else uploader.stop();
    return isCompleted;
  };
  return {
    uploaders,
    finished,
    saves,
    /** Returns the attempt's completely uploaded checkpoints; an empty list unless its trainer was the last to start. */
    storedOf: (attemptId: AttemptId): readonly Output[] =>
      live?.attemptId === attemptId ? live.uploader.stored() : [],
    begin,
    finish,
  };
}
