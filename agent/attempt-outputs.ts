import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId } from '../protocol/ids.ts';
import { pause } from './backoff.ts';
import { type Bringer, type BringerParts, createBringer } from './bringer.ts';
import { openStorage, type StorageParts, type StoragePlace } from './storage.ts';
import type { JobOffer } from './trainer.ts';
import { readFields, writeWhole } from './whole-file.ts';

/** What of the outputs of trainers is brought to the orchestrator. */
export type Which = 'all' | 'checkpoints' | 'none';

/**
 * What the trainers of this rig make, on its way to the orchestrator: while they run, and after a completed end for as long as it is taken,
 * also beside the next job. What is to be brought is on disk, so that the agent's next process goes on with it.
 */
export interface AttemptOutputs {
  /** Its trainer is about to be started. */
  follow(offer: JobOffer, outputDir: string): void;
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
    Pick<BringerParts, 'random' | 'say' | 'signal' | 'sizes'> {
  /** One file an attempt; for its owner's eyes only, since the upload token of the attempt is in it. */
  readonly folder: string;
  readonly which: Which;
  /** ms since 1970. */
  readonly wall: () => number;
}

/** A rig notes this many attempts with files to upload; beyond it, the oldest is dropped. */
const maxNotes = 200;

/** What is kept on disk of an attempt. */
interface Kept extends StoragePlace {
  readonly outputDir: string;
}

export function createAttemptOutputs(parts: AttemptOutputsParts): AttemptOutputs {
  const { clock, folder, which, wall, say } = parts;
  const under = new Map<AttemptId, Bringer>();
  const finished = new Set<Bringer>();
  const fileOf = (attemptId: AttemptId): string => join(folder, `${attemptId}.json`);
  const forget = (attemptId: AttemptId): void => rmSync(fileOf(attemptId), { force: true });

  const begin = (attemptId: AttemptId, { outputDir, ...place }: Kept, begunAt: number | null): void => {
    if (which === 'none' || under.has(attemptId)) return;
    const storage = openStorage(place, parts);
    const bringer = createBringer({ ...parts, which, storage, root: outputDir, begunAt });
    under.set(attemptId, bringer);
    void bringer.done.then(isThrough => {
      under.delete(attemptId);
      finished.delete(bringer);
      if (isThrough) forget(attemptId);
    });
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
  /** Attempts are noted in the order in which they began, in this process and before it. */
  const dropOldest = (): void => {
    const noted = attemptsIn(folder).toSorted((a, b) => changedAt(fileOf(a)) - changedAt(fileOf(b)));
    for (const attemptId of noted.slice(0, Math.max(0, noted.length - maxNotes))) {
      say(`The files of attempt ${attemptId} are not uploaded any more: ${maxNotes} later ones wait as well`);
      under.get(attemptId)?.stop();
      forget(attemptId);
    }
  };

  return {
    follow(offer, outputDir) {
      const { attempt_id: attemptId, upload_endpoint: endpoint, upload_token: token } = offer;
      if (which === 'none' || token === undefined || token === '') return;
      const kept: Kept = { endpoint, token, outputDir };
      try {
        mkdirSync(folder, { recursive: true, mode: 0o700 });
        writeWhole(fileOf(attemptId), JSON.stringify(kept));
        dropOldest();
      } catch {
        // A disk that is full: it is brought all the same, for as long as this process lives.
      }
      begin(attemptId, kept, wall());
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
      for (const attemptId of attemptsIn(folder)) {
        const kept = readKept(fileOf(attemptId));
        if (kept === null || which === 'none') {
          forget(attemptId);
          continue;
        }
        begin(attemptId, kept, null);
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

function readKept(file: string): Kept | null {
  const { endpoint, token, outputDir } = readFields(file) ?? {};
  const isWhole = typeof endpoint === 'string' && typeof token === 'string' && typeof outputDir === 'string';
  return isWhole ? { endpoint, token, outputDir } : null;
}

const changedAt = (file: string): number => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

function attemptsIn(folder: string): readonly AttemptId[] {
  try {
    return readdirSync(folder).flatMap(name => {
      const id = AttemptId.safeParse(name.replace(/\.json$/, ''));
      return name.endsWith('.json') && id.success ? [id.data] : [];
    });
  } catch {
    return [];
  }
}
