import { type InputFile, maxInputFiles } from '../../../protocol/job-inputs.ts';
import type { Artifact } from '../ports/index.ts';
import type { Checkpoint, JudgedCheckpoint } from './checkpoint-rules.ts';

/** The files of a job, from which an input is chosen. Read only as far as needed. */
export interface JobFiles {
  /** Newest first. */
  readonly checkpoints: () => readonly JudgedCheckpoint[];
  /** All files of the kinds `checkpoint` and `final_model`. */
  readonly models: () => readonly Artifact[];
  readonly file: (key: string) => Artifact | null;
  /** The files in a folder. */
  readonly below: (folder: string, limit: number) => readonly Artifact[];
}

export interface FoundInput {
  /** Key of the file or folder. */
  readonly key: string;
  /** Step of the checkpoint; null if it is none. */
  readonly step: number | null;
  readonly files: readonly Artifact[];
}

/** Finds an input among the files of a job. If there is none, returns why, as the end of a sentence about the job: "has no ...". */
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

/** A checkpoint with the whole state of the training. */
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

/** The checkpoint with the lowest loss; null if no loss is known. */
function lowestOf(checkpoints: readonly JudgedCheckpoint[]): JudgedCheckpoint | null {
  let best: JudgedCheckpoint | null = null;
  for (const each of checkpoints)
    if (each.loss !== null && (best?.loss === undefined || best.loss === null || each.loss < best.loss))
      best = each;
  return best;
}

/** The weights alone, if they are beside a folder of the same step: a job starts from weights, and resumes from a folder. */
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

/** The checkpoint with the lowest loss. If no loss is known: the only checkpoint, or one that the trainer named "best". */
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

/** The file or folder that the trainer itself named "best"; null when it did not. */
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
const isSafe = ({ key }: Artifact): number => Number(key.endsWith('.safetensors'));

/** The final model of the newest attempt that has one. Copies in subfolders, such as averaged weights, come last. */
function resultIn(models: readonly Artifact[]): FoundInput | string {
  const [first] = newestFirst(models.filter(({ kind }) => kind === 'final_model')).toSorted(
    (a, b) => b.attempt - a.attempt || depthOf(a) - depthOf(b) || isSafe(b) - isSafe(a),
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

/** Path of a file of an input: the name of the file or folder, and for a folder the path in it. */
export const pathIn = ({ key }: Pick<FoundInput, 'key'>, file: string): string =>
  file.slice(key.lastIndexOf('/') + 1);
