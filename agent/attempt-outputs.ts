import type { AttemptId } from '../protocol/ids.ts';
import { type AttemptNote, type AttemptNotesFolders, openAttemptNotes } from './attempt-notes.ts';
import { pause } from './backoff.ts';
import { type Bringer, type BringerParts, createBringer } from './bringer.ts';
import { openEventImages } from './event-images/index.ts';
import { openStorage, type StorageParts } from './storage.ts';
import type { JobOffer, PreparedJob } from './trainer.ts';

/** What of the outputs of trainers is brought to the orchestrator. */
export type Which = 'all' | 'checkpoints' | 'none';

/**
 * What the trainers of this rig make, on its way to the orchestrator: while they run, and after a completed end for as long as it is taken,
 * also beside the next job. What is to be brought is on disk, so that the agent's next process goes on with it.
 */
export interface AttemptOutputs {
  /** Resolves when the trainer may start: what it writes from then on belongs to this attempt. */
  follow(offer: JobOffer, job: Pick<PreparedJob, 'outputDir' | 'samplesAreFiles'>): Promise<void>;
  /**
   * Its trainer has ended; of another end than a completed one nothing more is taken. Returns whether files may still have to be uploaded:
   * that is noted on disk until they are, or until the orchestrator closes the uploads.
   */
  finish(attemptId: AttemptId, isCompleted: boolean): boolean;
  /** ... of one that is to be tried again, and whose end is not told yet: resolves when its checkpoints have been brought, or the time is up. */
  rescue(attemptId: AttemptId, withinMs: number): Promise<void>;
  /** Goes on with what an earlier process of the agent has begun; `live` is the attempt whose trainer may still run. */
  resume(live: AttemptId | null): void;
  /** Resolves when all that has ended has been brought, or the time is up, or somebody is in a hurry. */
  leave(withinMs: number, hurry: AbortSignal): Promise<void>;
}

export interface AttemptOutputsParts
  extends StorageParts,
    AttemptNotesFolders,
    Pick<BringerParts, 'random' | 'say' | 'signal' | 'sizes'> {
  readonly which: Which;
  /** ms since 1970. */
  readonly wall: () => number;
}

/** A rig notes this many attempts with files to upload; beyond it, the oldest is dropped. */
const maxNotes = 200;

export function createAttemptOutputs(parts: AttemptOutputsParts): AttemptOutputs {
  const { clock, which, wall, say } = parts;
  const notes = openAttemptNotes(parts);
  const under = new Map<AttemptId, Bringer>();
  const finished = new Set<Bringer>();

  /** `begunAt` is null for an attempt that an earlier process has begun. */
  const begin = (attemptId: AttemptId, note: AttemptNote, begunAt: number | null, takesImages: boolean) => {
    const { outputDir, ...place } = note;
    if (which === 'none' || under.has(attemptId)) return Promise.resolve();
    const storage = openStorage(place, parts);
    const source = { outputDir, folder: notes.imagesOf(attemptId), isNew: begunAt !== null };
    const images = which === 'all' && takesImages ? openEventImages(source) : null;
    const bringer = createBringer({ ...parts, which, storage, root: outputDir, images, begunAt });
    under.set(attemptId, bringer);
    void bringer.done.then(isThrough => {
      under.delete(attemptId);
      finished.delete(bringer);
      if (isThrough) notes.forget(attemptId);
    });
    return images?.ready ?? Promise.resolve();
  };

  const finish = (attemptId: AttemptId, isCompleted: boolean): boolean => {
    const bringer = under.get(attemptId);
    if (bringer === undefined) return false;
    if (isCompleted) {
      finished.add(bringer);
      bringer.finish('completed');
    } else bringer.stop();
    return isCompleted;
  };
  /** Attempts of this process and of earlier ones. */
  const dropOldest = (): void => {
    for (const attemptId of notes.list().slice(0, -maxNotes)) {
      say(`The files of attempt ${attemptId} are not uploaded any more: ${maxNotes} later ones wait as well`);
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
        // A disk that is full: it is brought all the same, for as long as this process lives.
      }
      await begin(attemptId, kept, wall(), !samplesAreFiles);
    },
    finish,
    async rescue(attemptId, withinMs) {
      const bringer = under.get(attemptId);
      if (bringer === undefined) return;
      bringer.finish('preempted');
      const through = new AbortController();
      void bringer.done.then(() => through.abort());
      await pause(clock, withinMs, through.signal);
      bringer.stop();
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
        // Whether its end was a completed one, the orchestrator knows.
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
