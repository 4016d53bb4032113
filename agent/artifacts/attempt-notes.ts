import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AttemptId } from '../../protocol/ids.ts';
import type { StorageLocation } from './storage.ts';
import { readFields, writeWhole } from '../files/whole-file.ts';

/** The data with which a later process of the worker continues the uploads of an attempt. */
export interface AttemptNote extends StorageLocation {
  readonly outputDir: string;
  /** When the attempt started, in ms since 1970; null in notes of older agents. */
  readonly startedAt: number | null;
}

/** Notes on disk about the attempts that still have files to upload, and the images that the worker wrote for them. */
export interface AttemptNotes {
  /** Returns the attempts in the order in which they started. */
  list(): readonly AttemptId[];
  /** Returns null when the attempt has no note, or when the note cannot be read. */
  read(attemptId: AttemptId): AttemptNote | null;
  /** Throws when the disk cannot be written. */
  write(attemptId: AttemptId, note: AttemptNote): void;
  /** Returns the folder for the images of this attempt. */
  imagesOf(attemptId: AttemptId): string;
  /** Removes the note and the images. */
  forget(attemptId: AttemptId): void;
  /**
   * Removes images of attempts without a note, because nothing would upload them. A process that was killed while the
   * disk was full can leave such images.
   */
  dropStrayImages(): void;
}

export interface AttemptNotesFolders {
  /**
   * Contains one file per attempt. Only the agent's user can read a file, because it contains the attempt's upload
   * token.
   */
  readonly folder: string;
  /** Contains the images from event files, in one folder per attempt. */
  readonly imagesFolder: string;
}

export function openAttemptNotes({ folder, imagesFolder }: AttemptNotesFolders): AttemptNotes {
  const fileOf = (attemptId: AttemptId): string => join(folder, `${attemptId}.json`);
  const imagesOf = (attemptId: AttemptId): string => join(imagesFolder, attemptId);
  const changedAt = (attemptId: AttemptId): number =>
    statSync(fileOf(attemptId), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const list = (): readonly AttemptId[] =>
    namesIn(folder)
      .flatMap(name => {
        const id = AttemptId.safeParse(name.replace(/\.json$/, ''));
        return name.endsWith('.json') && id.success ? [id.data] : [];
      })
      .toSorted((a, b) => changedAt(a) - changedAt(b));

  return {
    list,
    imagesOf,
    read(attemptId) {
      const { endpoint, token, outputDir, startedAt } = readFields(fileOf(attemptId)) ?? {};
      const isWhole =
        typeof endpoint === 'string' && typeof token === 'string' && typeof outputDir === 'string';
      if (!isWhole) return null;
      return { endpoint, token, outputDir, startedAt: typeof startedAt === 'number' ? startedAt : null };
    },
    write(attemptId, note) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeWhole(fileOf(attemptId), JSON.stringify(note));
    },
    forget(attemptId) {
      rmSync(imagesOf(attemptId), { recursive: true, force: true });
      rmSync(fileOf(attemptId), { force: true });
    },
    dropStrayImages() {
      const noted = new Set<string>(list());
      for (const name of namesIn(imagesFolder))
        if (!noted.has(name)) rmSync(join(imagesFolder, name), { recursive: true, force: true });
    },
  };
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
