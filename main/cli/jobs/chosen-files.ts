import { type ArtifactView, type CheckpointView, checkpointOf } from '../../../protocol/artifact.ts';
import { exitCodes, type Failure } from '../failure.ts';

type Chosen =
  | { readonly ok: true; readonly files: readonly ArtifactView[] }
  | { readonly ok: false; readonly failure: Failure };

const missing = (message: string): Chosen => ({
  ok: false,
  failure: { code: exitCodes.notFound, message },
});

/** Returns the files with these names, and all files in folders with these names; without names, all files. */
export function filesNamed(files: readonly ArtifactView[], names: readonly string[]): Chosen {
  if (names.length === 0) return { ok: true, files };
  const wanted = names.map(name => name.replace(/\/+$/, ''));
  const isMeant = (key: string, name: string): boolean => key === name || key.startsWith(`${name}/`);
  const unknown = wanted.find(name => !files.some(({ key }) => isMeant(key, name)));
  if (unknown !== undefined)
    return missing(
      `The job has no file or folder "${unknown}". To list its files, run "trainyard jobs artifacts"`,
    );
  return { ok: true, files: files.filter(({ key }) => wanted.some(name => isMeant(key, name))) };
}

/** Returns all files of one checkpoint. `word`: its name, `newest` or `best`. */
export function filesOfCheckpoint(
  files: readonly ArtifactView[],
  checkpoints: readonly CheckpointView[],
  word: string,
): Chosen {
  const found = checkpoints.find(
    ({ name, newest, best }) => (word === 'newest' && newest) || (word === 'best' && best) || name === word,
  );
  if (found === undefined) {
    return missing(
      word === 'newest' || word === 'best'
        ? `The job has no ${word} checkpoint. To list its checkpoints, run "trainyard jobs checkpoints"`
        : `The job has no checkpoint "${word}". To list its checkpoints, run "trainyard jobs checkpoints"`,
    );
  }
  // Samples may be in the checkpoint's folder, but do not belong to it.
  const own = files.filter(
    ({ key, kind }) => kind !== 'sample_image' && checkpointOf(key)?.name === found.name,
  );
  return { ok: true, files: own };
}
