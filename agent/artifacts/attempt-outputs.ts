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
   * checkpoints are uploaded, or after `withinMs`. `end`: whether the trainer ended in its own way. After it was killed,
   * a checkpoint that it may have been writing is left out.
   */
  rescue(attemptId: AttemptId, withinMs: number, end?: 'preempted' | 'killed'): Promise<void>;
  /**
   * Call when the trainer will be stopped soon. Uploads only its checkpoints from now on, as soon as they are complete. Returns
   * false when nothing of this attempt is uploaded.
   */
  hasten(attemptId: AttemptId): boolean;
  /** Which checkpoints of the attempt are completely uploaded. */
  saved(attemptId: AttemptId): Saved;
  /** The longest of the last times from a checkpoint's first file to its upload, in ms; null before the first one. */
  saveMs(): number | null;
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

interface Beginning {
  /** When the attempt started, in ms since 1970; null when an earlier process started it. */
  readonly startedAt: number | null;
  readonly takesImages: boolean;
  /** Whether its trainer may still run. */
  readonly isLive: boolean;
}

/** The maximum number of attempts with files to upload that a rig notes. Beyond it, the oldest is dropped. */
const maxNotes = 200;

export function createAttemptOutputs(deps: AttemptOutputsDeps): AttemptOutputs {
  const { clock, which, wall, log } = deps;
  const notes = openAttemptNotes(deps);
  const { under, finished, saves, storedOf, begin, finish } = createUploaders(deps, notes);

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
      const startedAt = wall();
      const kept: AttemptNote = { endpoint, token, outputDir, startedAt };
      try {
        notes.write(attemptId, kept);
        dropOldest();
      } catch {
        // The disk is full. This process uploads the files all the same; a later one would not know of them.
      }
      await begin(attemptId, kept, { startedAt, takesImages: !samplesAreFiles, isLive: true });
    },
    finish,
    async rescue(attemptId, withinMs, end = 'preempted') {
      const uploader = under.get(attemptId);
      if (uploader === undefined) return;
      uploader.finish(end);
      const through = new AbortController();
      void uploader.done.then(() => through.abort());
      await pause(clock, withinMs, through.signal);
      uploader.stop();
    },
    hasten(attemptId) {
      const uploader = under.get(attemptId);
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
        const kept = notes.read(attemptId);
        if (kept === null || which === 'none') {
          notes.forget(attemptId);
          continue;
        }
        void begin(attemptId, kept, { startedAt: null, takesImages: true, isLive: attemptId === running });
        // Treat it as completed: only the orchestrator knows, and it rejects the uploads if it was not.
        if (attemptId !== running) finish(attemptId, true);
      }
    },
    async leave(withinMs, hurry) {
      const through = new AbortController();
      void Promise.all([...finished].map(({ done }) => done)).then(() => through.abort());
      await pause(clock, withinMs, AbortSignal.any([through.signal, hurry]));
    },
  };
}

/** The uploads of attempts, each with its own uploader. */
function createUploaders(deps: AttemptOutputsDeps, notes: AttemptNotes) {
  const { which, wall } = deps;
  const under = new Map<AttemptId, ArtifactUploader>();
  const finished = new Set<ArtifactUploader>();
  const saves = createAttemptSaves(wall);
  /** The uploads of the trainer that started last, also after they have ended. */
  let live: { readonly attemptId: AttemptId; readonly uploader: ArtifactUploader } | null = null;

  const begin = (attemptId: AttemptId, note: AttemptNote, { startedAt, takesImages, isLive }: Beginning) => {
    const { outputDir, startedAt: noted, ...location } = note;
    if (which === 'none' || under.has(attemptId)) return Promise.resolve();
    const storage = openStorage(location, deps);
    const source = { outputDir, folder: notes.imagesOf(attemptId), isNew: startedAt !== null };
    const images = which === 'all' && takesImages ? openEventImages(source) : null;
    const onCheckpoint = saves.begin(attemptId, noted ?? wall());
    const uploader = createArtifactUploader({
      ...deps,
      which,
      storage,
      root: outputDir,
      images,
      startedAt,
      onCheckpoint,
    });
    under.set(attemptId, uploader);
    if (isLive) live = { attemptId, uploader };
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
  return {
    under,
    finished,
    saves,
    /** The checkpoints of the attempt whose trainer started last that are uploaded as they are on the disk. */
    storedOf: (attemptId: AttemptId): readonly Output[] =>
      live?.attemptId === attemptId ? live.uploader.stored() : [],
    begin,
    finish,
  };
}
