import type { AttemptId } from '../../protocol/ids.ts';
import { type AttemptNote, type AttemptNotesFolders, openAttemptNotes } from './attempt-notes.ts';
import { pause } from '../retry/retry.ts';
import {
  type ArtifactUploader,
  type ArtifactUploaderDeps,
  createArtifactUploader,
} from './artifact-uploader.ts';
import { openEventImages } from './event-images/index.ts';
import { openStorage, type StorageDeps } from './storage.ts';
import type { JobOffer, PreparedJob } from '../job.ts';

/** Which outputs of trainers to upload. */
export type Which = 'all' | 'checkpoints' | 'none';

/**
 * Uploads what this rig's trainers write. Uploads start while the trainer runs. After a completed end they continue as
 * long as the server accepts files, even beside the next job. They are noted on disk, so that the agent's next process
 * continues them.
 */
export interface AttemptOutputs {
  /**
   * Starts to follow an attempt's outputs. Resolves when the trainer may start: files written from then on belong to
   * this attempt.
   */
  follow(offer: JobOffer, job: Pick<PreparedJob, 'outputDir' | 'samplesAreFiles'>): Promise<void>;
  /**
   * Call when the trainer has ended. Unless it completed, uploading stops. Returns whether files may still have to be
   * uploaded. A note on disk records that until they are, or until the orchestrator closes the uploads.
   */
  finish(attemptId: AttemptId, isCompleted: boolean): boolean;
  /**
   * Call when the trainer has ended and the job is to be retried, before its end is reported. Resolves when its
   * checkpoints are uploaded, or after `withinMs`.
   */
  rescue(attemptId: AttemptId, withinMs: number): Promise<void>;
  /** Continues the uploads of earlier processes of the agent. `live`: the attempt whose trainer may still run. */
  resume(live: AttemptId | null): void;
  /** Resolves when all files of completed attempts are uploaded, after `withinMs`, or when `hurry` fires. */
  leave(withinMs: number, hurry: AbortSignal): Promise<void>;
}

export interface AttemptOutputsDeps
  extends StorageDeps,
    AttemptNotesFolders,
    Pick<ArtifactUploaderDeps, 'random' | 'log' | 'signal' | 'sizes'> {
  readonly which: Which;
  /** ms since 1970. */
  readonly wall: () => number;
}

/** The maximum number of attempts with files to upload that a rig notes. Beyond it, the oldest is dropped. */
const maxNotes = 200;

export function createAttemptOutputs(deps: AttemptOutputsDeps): AttemptOutputs {
  const { clock, which, wall, log } = deps;
  const notes = openAttemptNotes(deps);
  const under = new Map<AttemptId, ArtifactUploader>();
  const finished = new Set<ArtifactUploader>();

  /** `startedAt`: when the attempt started, in ms since 1970; null when an earlier process started it. */
  const begin = (attemptId: AttemptId, note: AttemptNote, startedAt: number | null, takesImages: boolean) => {
    const { outputDir, ...location } = note;
    if (which === 'none' || under.has(attemptId)) return Promise.resolve();
    const storage = openStorage(location, deps);
    const source = { outputDir, folder: notes.imagesOf(attemptId), isNew: startedAt !== null };
    const images = which === 'all' && takesImages ? openEventImages(source) : null;
    const uploader = createArtifactUploader({ ...deps, which, storage, root: outputDir, images, startedAt });
    under.set(attemptId, uploader);
    void uploader.done.then(isThrough => {
      under.delete(attemptId);
      finished.delete(uploader);
      if (isThrough) notes.forget(attemptId);
    });
    return images?.ready ?? Promise.resolve();
  };

  const finish = (attemptId: AttemptId, isCompleted: boolean): boolean => {
    const uploader = under.get(attemptId);
    if (uploader === undefined) return false;
    if (isCompleted) {
      finished.add(uploader);
      uploader.finish('completed');
    } else uploader.stop();
    return isCompleted;
  };
  /** Drops the oldest attempts beyond `maxNotes`, whichever process started them. */
  const dropOldest = (): void => {
    for (const attemptId of notes.list().slice(0, -maxNotes)) {
      log(`The files of attempt ${attemptId} are not uploaded any more: ${maxNotes} later ones wait as well`);
      under.get(attemptId)?.stop();
      notes.forget(attemptId);
    }
  };

  return {
    async follow(offer, { outputDir, samplesAreFiles }) {
      const { attempt_id: attemptId, upload_endpoint: endpoint, upload_token: token } = offer;
      if (which === 'none' || token === undefined || token === '') return;
      const kept: AttemptNote = { endpoint, token, outputDir };
      try {
        notes.write(attemptId, kept);
        dropOldest();
      } catch {
        // The disk is full. This process uploads the files all the same; a later one would not know of them.
      }
      await begin(attemptId, kept, wall(), !samplesAreFiles);
    },
    finish,
    async rescue(attemptId, withinMs) {
      const uploader = under.get(attemptId);
      if (uploader === undefined) return;
      uploader.finish('preempted');
      const through = new AbortController();
      void uploader.done.then(() => through.abort());
      await pause(clock, withinMs, through.signal);
      uploader.stop();
    },
    resume(live) {
      notes.dropStrayImages();
      for (const attemptId of notes.list()) {
        const kept = notes.read(attemptId);
        if (kept === null || which === 'none') {
          notes.forget(attemptId);
          continue;
        }
        void begin(attemptId, kept, null, true);
        // Treat it as completed: only the orchestrator knows, and it rejects the uploads if it was not.
        if (attemptId !== live) finish(attemptId, true);
      }
    },
    async leave(withinMs, hurry) {
      const through = new AbortController();
      void Promise.all([...finished].map(({ done }) => done)).then(() => through.abort());
      await pause(clock, withinMs, AbortSignal.any([through.signal, hurry]));
    },
  };
}
