import type { AfterOn } from '../../../../protocol/job-dependencies.ts';
import type { JobId } from '../../../../protocol/ids.ts';
import { readInputFile } from '../../../../protocol/job-inputs.ts';
import { accept, type Outcome, refuse } from '../../../../protocol/problem.ts';
import type { SubmitRequest } from '../../../../protocol/queue-api.ts';
import { trainerNamed } from '../../../../trainers/index.ts';
import { type Core, recordJobEvent } from '../../core.ts';
import {
  type Actor,
  type Dependencies,
  type EndedJob,
  type Job,
  nameOf,
  type Parent,
  system,
} from '../../model.ts';
import type { OpenChildren, Read, Tx } from '../../ports/index.ts';
import { troubleText, troubleWith } from '../../views/inputs.ts';
import { seesAllJobs } from '../../views/visibility.ts';
import { afterEnd, rootOf, unmetOf } from '../../rules/dependencies.ts';
import { startWaiting } from '../../rules/queue-rules.ts';

type AfterRequest = Pick<SubmitRequest, 'after' | 'after_on' | 'inputs'>;

/**
 * Returns the dependencies of a new job; null without parents and inputs. `trainer`: undefined for a fleet test, which
 * runs no trainer. Cycles are impossible, because all parents already exist.
 */
export function dependenciesFor(
  read: Read,
  { after = [], after_on: on = 'success', inputs = [] }: AfterRequest,
  trainer: string | undefined,
  by: Actor,
): Outcome<Dependencies | null> {
  const ids = new Set([...after, ...inputs.map(({ from }) => from)]);
  if (ids.size === 0) return accept(null);
  const user = nameOf(by);
  const seesAll = seesAllJobs(read, user);
  const parents: Parent[] = [];
  for (const id of ids) {
    const job = read.job(id);
    if (job === null || (!seesAll && job.user !== user))
      return refuse('job_not_found', `There is no job ${id} to wait for`);
    const continues = inputs.some(({ from, file }) => from === id && takesState(file));
    const refusal = continues ? otherTrainer(job, trainer) : null;
    if (refusal !== null) return refuse('config_invalid', refusal);
    parents.push({ id, root: rootOf(job), isDone: hasEnded(read, job, on) });
  }
  return checkInputs(read, { on, parents, ...(inputs.length > 0 && { inputs }) }, user);
}

/** Whether the input is a checkpoint with the whole training state, from which the job continues. */
const takesState = (file: string): boolean => {
  const input = readInputFile(file);
  return input?.kind === 'checkpoint' && input.continues === true;
};

/**
 * Returns why a trainer cannot continue from a parent's checkpoints. Null if the parent has the same trainer, or if one of
 * the two trainers is unknown.
 */
function otherTrainer({ id, spec }: Job, name: string | undefined): string | null {
  const theirs = trainerNamed(spec.requirements.trainer ?? '');
  const own = trainerNamed(name ?? '');
  if (theirs === null || own === null || theirs === own) return null;
  if (theirs.name === 'command' || own.name === 'command') return null;
  return `${own.title} cannot continue from a checkpoint of ${theirs.title}, which job ${id} uses: take only its weights, with "checkpoint" instead of "state"`;
}

/** Refuses a job if an ended parent lacks its input files. If the parent is still uploading them, the job waits. */
function checkInputs(read: Read, dependencies: Dependencies, user: string): Outcome<Dependencies> {
  const parents: Parent[] = [];
  for (const parent of dependencies.parents) {
    const trouble = parent.isDone ? troubleWith(read, { dependencies, parent, user }) : null;
    if (trouble?.kind === 'missing') return refuse('artifact_not_found', troubleText(read, parent, trouble));
    parents.push(trouble === null ? parent : { ...parent, isDone: false });
  }
  return accept({ ...dependencies, parents });
}

/** Whether a parent has ended as its child requires. For `success`, a retry of the parent can complete instead. */
const hasEnded = (read: Read, job: Job, on: AfterOn): boolean =>
  on === 'end' ? 'endedAt' in job : job.status === 'completed' || read.hasCompleted(rootOf(job));

/**
 * Returns the dependencies of a retry. The retry has the parents of the original job, and waits for those that have not
 * ended as required. Refused if one of these was deleted, or if an ended parent lacks the input files.
 */
export function dependenciesAgain(
  read: Read,
  { id, dependencies }: Pick<Job, 'id' | 'dependencies'>,
  by: Actor,
): Outcome<Dependencies | null> {
  if (dependencies === null) return accept(null);
  const parents: Parent[] = [];
  for (const parent of dependencies.parents) {
    const job = read.job(parent.id);
    if (job === null && !parent.isDone)
      return refuse('job_not_found', `Job ${id} waited for job ${parent.id}, which was deleted`);
    const isDone = parent.isDone || (job !== null && hasEnded(read, job, dependencies.on));
    parents.push({ ...parent, isDone });
  }
  return checkInputs(read, { ...dependencies, parents }, nameOf(by));
}

/** Maximum number of children to look through for an example. */
const maxExamined = 500;

/**
 * Returns the refusal to delete a job with pending children. Even a failed job with pending children must stay, because a
 * retry could still let the children start.
 */
export function refuseAwaited(read: Read, id: JobId): Outcome<never> {
  const example = read.children(id, maxExamined).find(child => read.job(child)?.status === 'pending');
  const exampleText = example === undefined ? '' : `, such as ${example}`;
  return refuse(
    'job_awaited',
    `Pending jobs wait for job ${id}${exampleText}: cancel them first, then delete it`,
  );
}

/** Maximum number of children that one transaction releases, so that other commands do not wait for long. */
const batchSize = 100;

/** Marks an ended job as done in the dependencies of its children. A child without any other blocker can then start. */
export function releaseChildren(core: Core, tx: Tx, ended: EndedJob): void {
  const root = rootOf(ended);
  if (ended.status === 'completed') releaseBatch(core, tx, ended, { root, on: 'success', parent: null });
  releaseBatch(core, tx, ended, { root, on: 'end', parent: ended.id });
}

function releaseBatch(core: Core, tx: Tx, ended: EndedJob, which: OpenChildren): void {
  const links = tx.openChildren(which, batchSize);
  for (const { child } of links) releaseChild(core, tx, child, ended);
  const last = links.at(-1);
  if (last === undefined || links.length < batchSize) return;
  const next = { ...which, after: last };
  tx.afterCommit(() => core.after(0, () => core.later(0, later => releaseNext(core, later, ended.id, next))));
}

function releaseNext(core: Core, tx: Tx, id: JobId, which: OpenChildren): void {
  const parent = tx.job(id);
  if (parent !== null && 'endedAt' in parent) releaseBatch(core, tx, parent, which);
}

/** Releases children that waited for files of a completed job. Called when files arrived, or when a user gave up on the rest. */
export function releaseAfterUploads(core: Core, tx: Tx, completed: EndedJob): void {
  releaseChildren(core, tx, completed);
  notifyChildren(core, tx, completed);
  tx.afterCommit(() => core.later(0));
}

function releaseChild(core: Core, tx: Tx, id: JobId, ended: EndedJob): void {
  const child = tx.job(id);
  if (child?.status !== 'pending' || child.dependencies === null) return;
  const { dependencies: before, user } = child;
  const hasInputs = (parent: Parent): boolean =>
    troubleWith(tx, { dependencies: before, parent, user }) === null;
  const dependencies = afterEnd(before, ended, hasInputs);
  if (unmetOf(dependencies) === unmetOf(before)) return;
  const isReady = unmetOf(dependencies) === 0;
  const rank = isReady ? startWaiting(child.rank, core.queueTime()) : child.rank;
  const next = { ...child, dependencies, rank };
  if (!tx.replaceJob(child, next))
    throw new Error(`job ${id} was changed by something else during its transaction`);
  if (!isReady) return;
  const { priority, boosts, top } = rank;
  const status = { from: next.status, to: next.status };
  const details = { ...status, priority, boosts, top, parent: ended.id };
  recordJobEvent(core, tx, 'job.dependencies_met', next, system, details);
}

/** Maximum number of children whose views are updated when the status of their parent changes. */
const maxNotified = 100;

/** Records an event for each child of `parent`, because `parent` has a new status or is a new retry. */
export function notifyChildren(core: Core, tx: Tx, parent: Job): void {
  const root = rootOf(parent);
  const links = [
    ...tx.openChildren({ root, on: 'success', parent: null }, maxNotified),
    ...tx.openChildren({ root, on: 'end', parent: parent.id }, maxNotified),
  ];
  for (const id of new Set(links.map(({ child }) => child))) {
    const child = tx.job(id);
    if (child !== null) recordJobEvent(core, tx, 'job.parent_changed', child, system);
  }
}

/** Releases children that were not released when their parent ended, because of a restart or a disk that refused writes. */
export function releaseMore(core: Core, parents: readonly JobId[]): void {
  for (const id of parents)
    core.later(0, tx => {
      const parent = tx.job(id);
      if (parent !== null && 'endedAt' in parent) releaseChildren(core, tx, parent);
    });
}
