import { type InputFile, maxInputFiles } from '../../../protocol/job-inputs.ts';
import type { Artifact } from '../ports/index.ts';
import type { Checkpoint, JudgedCheckpoint } from './checkpoint-rules.ts';

/** The files of the job that provides an input. The fields are functions, so that only the needed files are read. */
export interface JobFiles {
  /** Newest first. */
  readonly checkpoints: () => readonly JudgedCheckpoint[];
  /** Returns all files of the kinds `checkpoint` and `final_model`. */
  readonly models: () => readonly Artifact[];
  readonly file: (key: string) => Artifact | null;
  /** Returns up to `limit` files in a folder. */
  readonly below: (folder: string, limit: number) => readonly Artifact[];
}

export interface FoundInput {
  /** Key of the file or folder. */
  readonly key: string;
  /** Step of the checkpoint; null if the input is no checkpoint. */
  readonly step: number | null;
  readonly files: readonly Artifact[];
}

/** Finds an input among the files of a job. Otherwise returns why not, as the end of a sentence about the job: "has no ...". */
export function findInput(input: InputFile, files: JobFiles): FoundInput | string {
  const foundInput = find(input, files);
  return typeof foundInput !== 'string' && foundInput.files.length > maxInputFiles
    ? `has more than ${maxInputFiles} files in ${foundInput.key}`
    : foundInput;
}

function find(input: InputFile, files: JobFiles): FoundInput | string {
  switch (input.kind) {
    case 'result':
      return resultIn(files.models());
    case 'checkpoint': {
      const complete = files.checkpoints().filter(({ isComplete }) => isComplete);
      return input.continues === true ? stateIn(complete, input) : weightsIn(complete, input, files);
    }
    case 'path':
      return atPath(input.path, files);
  }
}

type WantedCheckpoint = Extract<InputFile, { readonly kind: 'checkpoint' }>;

function weightsIn(
  complete: readonly JudgedCheckpoint[],
  wanted: WantedCheckpoint,
  files: JobFiles,
): FoundInput | string {
  if (wanted.which === 'step')
    return chosen(complete, ({ step }) => step === wanted.step) ?? `has no checkpoint of step ${wanted.step}`;
  if (wanted.which === 'newest') return chosen(complete, () => true) ?? 'has no checkpoint';
  return bestIn(complete, files);
}

/** Finds a checkpoint with the whole training state. */
function stateIn(complete: readonly JudgedCheckpoint[], wanted: WantedCheckpoint): FoundInput | string {
  const states = complete.filter(({ mayContinue }) => mayContinue);
  const [first, ...others] = states;
  if (first === undefined) return 'has no checkpoint from which a training can continue';
  if (wanted.which === 'newest') return toFound(first);
  if (wanted.which === 'step') {
    const found = states.find(({ step }) => step === wanted.step);
    return found === undefined
      ? `has no checkpoint of step ${wanted.step} from which a training can continue`
      : toFound(found);
  }
  const lowest = lowestOf(states);
  if (lowest !== null) return toFound(lowest);
  return others.length > 0 ? 'has no loss by which its checkpoints could be compared' : toFound(first);
}

/** Returns the checkpoint with the lowest loss; null if no loss is known. */
function lowestOf(checkpoints: readonly JudgedCheckpoint[]): JudgedCheckpoint | null {
  let best: JudgedCheckpoint | null = null;
  for (const each of checkpoints)
    if (each.loss !== null && (best?.loss === undefined || best.loss === null || each.loss < best.loss))
      best = each;
  return best;
}

/**
 * Returns the first wanted checkpoint; null if there is none. Prefers a file of weights over a folder of the same step
 * and attempt, because a new job needs only the weights.
 */
function chosen(
  complete: readonly JudgedCheckpoint[],
  isWanted: (checkpoint: JudgedCheckpoint) => boolean,
): FoundInput | null {
  const first = complete.find(isWanted);
  if (first === undefined) return null;
  const { step, attempt } = first;
  const file = complete.find(
    each => each.isFile && step !== null && each.step === step && each.attempt === attempt,
  );
  return toFound(file ?? first);
}

const toFound = ({ name, step, files }: Checkpoint): FoundInput => ({ key: name, step, files });

/**
 * Finds the checkpoint with the lowest loss. If no loss is known, finds the one that the trainer named "best", or the
 * checkpoint of the only step.
 */
function bestIn(complete: readonly JudgedCheckpoint[], files: JobFiles): FoundInput | string {
  const best = chosen(complete, ({ isBest }) => isBest) ?? namedBest(files.models());
  if (best !== null) return best;
  const [first, ...others] = complete;
  if (first === undefined) return 'has no checkpoint';
  return others.some(({ step }) => step !== first.step)
    ? 'has no loss by which its checkpoints could be compared'
    : toFound(first);
}

/** A name such as `best.safetensors`, `checkpoint-best` or `model_best.pt`. */
const bestName = /(?:^|[-_.])best(?:[-_.]|$)/i;

/** Returns the newest file or folder that the trainer named "best"; null if there is none. */
function namedBest(models: readonly Artifact[]): FoundInput | null {
  for (const { key } of newestFirst(models)) {
    const names = key.split('/');
    const at = names.findIndex(name => bestName.test(name));
    if (at === -1) continue;
    const path = names.slice(0, at + 1).join('/');
    return { key: path, step: null, files: models.filter(file => isAtOrBelow(file.key, path)) };
  }
  return null;
}

const isAtOrBelow = (key: string, path: string): boolean => key === path || key.startsWith(`${path}/`);

const newestFirst = (files: readonly Artifact[]): readonly Artifact[] =>
  files.toSorted((a, b) => b.attempt - a.attempt || b.order - a.order);

const depthOf = ({ key }: Artifact): number => key.split('/').length;
const safetensorsFirst = (a: Artifact, b: Artifact): number =>
  Number(b.key.endsWith('.safetensors')) - Number(a.key.endsWith('.safetensors'));

/** Finds the final model of the newest attempt that has one. Prefers files in upper folders: subfolders contain variants. */
function resultIn(models: readonly Artifact[]): FoundInput | string {
  const [first] = newestFirst(models.filter(({ kind }) => kind === 'final_model')).toSorted(
    (a, b) => b.attempt - a.attempt || depthOf(a) - depthOf(b) || safetensorsFirst(a, b),
  );
  return first === undefined ? 'has no final model' : { key: first.key, step: null, files: [first] };
}

function atPath(path: string, { file, below, checkpoints }: JobFiles): FoundInput | string {
  const checkpoint = checkpoints().find(({ name }) => name === path);
  if (checkpoint !== undefined)
    return checkpoint.isComplete ? toFound(checkpoint) : `has only a part of ${path}`;
  const exact = file(path);
  if (exact !== null) return { key: path, step: null, files: [exact] };
  const files = below(path, maxInputFiles + 1);
  return files.length === 0 ? `has no file ${path}` : { key: path, step: null, files };
}

/** Returns the path of a file of an input, relative to the folder that contains the input. */
export const pathIn = ({ key }: Pick<FoundInput, 'key'>, file: string): string =>
  file.slice(key.lastIndexOf('/') + 1);
