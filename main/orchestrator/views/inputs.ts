import { isSafeInConfig, maxInputFiles, readInputFile } from '../../../protocol/job-inputs.ts';
import type { JobDetail } from '../../../protocol/job.ts';
import { ArtifactPath } from '../../../protocol/artifact.ts';
import { accept, type Outcome, refuse } from '../../../protocol/problem.ts';
import type { AttemptInput, WantedInput } from '../input-model.ts';
import type { Dependencies, Job, Parent } from '../model.ts';
import type { Artifact, Read } from '../ports/index.ts';
import type { InputTrouble } from '../rules/dependencies.ts';
import { findInput, type FoundInput, type JobFiles, pathIn } from '../rules/input-rules.ts';
import { nameOfJob } from './shown-status.ts';
import { judgedCheckpoints } from './checkpoints.ts';
import { seesAllJobs } from './visibility.ts';

/** A parent whose files a job takes, and the job's user. */
interface InputRequest {
  readonly dependencies: Dependencies;
  readonly parent: Parent;
  readonly user: string;
}

type Source = { readonly kind: 'source'; readonly job: Job } | InputTrouble;

/**
 * Returns the job that provides the files: the newest completed job in the parent's chain of retries. For children that wait
 * for any end, the parent itself is the fallback.
 */
function sourceOf(read: Read, { dependencies, parent, user }: InputRequest): Source {
  const parentJob = read.job(parent.id);
  const completed = read.completedIn(parent.root).flatMap(id => read.job(id) ?? []);
  const all = dependencies.on === 'end' && parentJob !== null ? [...completed, parentJob] : completed;
  const seesAll = seesAllJobs(read, user);
  const readable = all.filter(job => seesAll || job.user === user);
  const isUploading = (job: Job): boolean => read.outstanding(job.id)?.state === 'pending';
  const job = readable.find(each => !isUploading(each));
  if (job !== undefined) return { kind: 'source', job };
  if (readable.length > 0) return { kind: 'uploading', text: 'is still uploading its files' };
  return { kind: 'missing', text: all.length > 0 ? 'belongs to another user' : 'was deleted' };
}

/** Maximum number of models of a job to look through. */
const maxModels = 5_000;

/** Reads the files of a job. Inputs from the same job share the results, because these can be large. */
function filesOf(read: Read, id: Job['id']): JobFiles {
  let checkpoints: ReturnType<JobFiles['checkpoints']> | null = null;
  let models: ReturnType<JobFiles['models']> | null = null;
  return {
    checkpoints: () => (checkpoints ??= judgedCheckpoints(read, id)),
    models: () => (models ??= read.modelFiles(id, maxModels)),
    file: key => read.artifact(id, key),
    below: (folder, limit) => read.artifactsBelow(id, folder, limit),
  };
}

function findIn(files: JobFiles, file: string): FoundInput | string {
  const input = readInputFile(file);
  if (input === null) return `has no file ${file}`;
  const foundInput = findInput(input, files);
  if (typeof foundInput === 'string') return foundInput;
  if (!isSafeInConfig(pathIn(foundInput, foundInput.key)))
    return `has ${foundInput.key}, whose name a trainer could expand`;
  return foundInput.files.every(
    ({ key }) => ArtifactPath.safeParse(`name/${pathIn(foundInput, key)}`).success,
  )
    ? foundInput
    : `has a path in ${foundInput.key} that is too long`;
}

const toInput = (name: string, jobId: Job['id'], { key, step, files }: FoundInput): AttemptInput => ({
  name,
  jobId,
  key,
  step,
  files: files.map(each => ({ key: each.key, bytes: each.bytes, sha256: each.sha256 })),
});

/** Returns the files that a job takes from one parent, or why it cannot take them. */
function inputsFrom(read: Read, request: InputRequest): readonly AttemptInput[] | InputTrouble {
  const inputsOfParent = wantedFrom(request);
  if (inputsOfParent.length === 0) return [];
  const source = sourceOf(read, request);
  if (source.kind !== 'source') return source;
  const files = filesOf(read, source.job.id);
  const inputs: AttemptInput[] = [];
  for (const { name, file } of inputsOfParent) {
    const foundInput = findIn(files, file);
    if (typeof foundInput === 'string')
      return { kind: 'missing', text: `${foundInput} (input ${name})`, input: { name, file } };
    inputs.push(toInput(name, source.job.id, foundInput));
  }
  return inputs;
}

const wantedFrom = ({ dependencies, parent }: InputRequest): readonly WantedInput[] =>
  (dependencies.inputs ?? []).filter(({ from }) => from === parent.id);

/** Returns why a job cannot take its input files from a parent that has ended as required; null when it can. */
export function troubleWith(read: Read, request: InputRequest): InputTrouble | null {
  const inputs = inputsFrom(read, request);
  return 'kind' in inputs ? inputs : null;
}

/** Chooses the input files of a new attempt: those of the previous attempt if they still exist. Refused if a file is missing. */
export function inputsFor(read: Read, job: Job): Outcome<readonly AttemptInput[]> {
  const { dependencies, user } = job;
  if (dependencies?.inputs === undefined) return accept([]);
  const before = job.attempt?.inputs;
  if (before?.every(input => isIntact(read, user, input))) return accept(before);
  const inputs: AttemptInput[] = [];
  for (const parent of dependencies.parents) {
    const taken = inputsFrom(read, { dependencies, parent, user });
    if ('kind' in taken) return refuse('artifact_not_found', troubleText(read, parent, taken));
    inputs.push(...taken);
  }
  const count = inputs.reduce((sum, { files }) => sum + files.length, 0);
  return count > maxInputFiles
    ? refuse(
        'artifact_not_found',
        `The inputs have ${count} files, and can have at most ${maxInputFiles} together`,
      )
    : accept(inputs);
}

function isIntact(read: Read, user: string, { jobId, files }: AttemptInput): boolean {
  const source = read.job(jobId);
  if (source === null || (source.user !== user && !seesAllJobs(read, user))) return false;
  return files.every(({ key, sha256 }) => read.artifact(jobId, key)?.sha256 === sha256);
}

/** Describes the trouble with a parent, in a sentence. */
export function troubleText(read: Read, { id }: Pick<Parent, 'id'>, { text }: InputTrouble): string {
  const job = read.job(id);
  const name = job === null ? id : `${nameOfJob(job)} (${id})`;
  return `Job ${name} ${text}`;
}

/**
 * Returns an input file of an attempt; null when the attempt has no such file. `path`: the input's name, a slash, and the
 * path in the input.
 */
export function fileOfInput(
  read: Read,
  { jobId, attemptId }: { readonly jobId: Job['id']; readonly attemptId: string },
  path: string,
): Artifact | null {
  const attempt = read.attempts(jobId).find(({ id }) => id === attemptId);
  for (const input of attempt?.inputs ?? []) {
    const file = input.files.find(({ key }) => `${input.name}/${pathIn(input, key)}` === path);
    if (file === undefined) continue;
    const stored = read.artifact(input.jobId, file.key);
    return stored?.sha256 === file.sha256 ? stored : null;
  }
  return null;
}

/** Returns the inputs of a job, with the files that its newest attempt got. */
export function inputsView(read: Read, { dependencies, attempt }: Job): JobDetail['inputs'] {
  return (dependencies?.inputs ?? []).map(({ name, from, file }) => {
    const parent = read.job(from);
    const source = attempt?.inputs?.find(input => input.name === name);
    return {
      name,
      job_id: from,
      job_name: parent === null ? null : nameOfJob(parent),
      file,
      source:
        source === undefined
          ? null
          : {
              job_id: source.jobId,
              key: source.key,
              step: source.step,
              files: source.files.length,
              bytes: source.files.reduce((sum, { bytes }) => sum + bytes, 0),
            },
    };
  });
}
