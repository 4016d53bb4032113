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
 * The dependencies of a new job with this trainer; undefined for a sample training. Its parents already exist, so none of them
 * can wait for it: cycles are impossible.
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

const takesState = (file: string): boolean => {
  const input = readInputFile(file);
  return input?.kind === 'checkpoint' && input.continues === true;
};

/** Returns why this trainer cannot continue from the parent's checkpoints; null if both have the same trainer, or one is unknown. */
function otherTrainer({ id, spec }: Job, name: string | undefined): string | null {
  const theirs = trainerNamed(spec.requirements.trainer ?? '');
  const own = trainerNamed(name ?? '');
  if (theirs === null || own === null || theirs === own) return null;
  if (theirs.name === 'command' || own.name === 'command') return null;
  return `${own.title} cannot continue from a checkpoint of ${theirs.title}, which job ${id} uses: take only its weights, with "checkpoint" instead of "state"`;
}

/** Refuses a job whose parents have ended without the files that it takes. If files are still being uploaded, the job waits for them. */
function checkInputs(read: Read, dependencies: Dependencies, user: string): Outcome<Dependencies> {
  const parents: Parent[] = [];
  for (const parent of dependencies.parents) {
    const trouble = parent.isDone ? troubleWith(read, { dependencies, parent, user }) : null;
    if (trouble?.kind === 'missing') return refuse('artifact_not_found', troubleText(read, parent, trouble));
    parents.push(trouble === null ? parent : { ...parent, isDone: false });
  }
  return accept({ ...dependencies, parents });
}

const hasEnded = (read: Read, job: Job, on: AfterOn): boolean =>
  on === 'end' ? 'endedAt' in job : job.status === 'completed' || read.hasCompleted(rootOf(job));

/** The dependencies of a retry: it waits again for the parents that the job had still waited for. */
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

/** Refuses to delete a job that others wait for. A failed parent stays, because a retry of it could still let them start. */
export function refuseAwaited(read: Read, id: JobId): Outcome<never> {
  const example = read.children(id, maxExamined).find(child => read.job(child)?.status === 'pending');
  const exampleText = example === undefined ? '' : `, such as ${example}`;
  return refuse(
    'job_awaited',
    `Pending jobs wait for job ${id}${exampleText}: cancel them first, then delete it`,
  );
}

/** Maximum number of children that one transaction releases. Other commands can run in between. */
const batch = 100;

/** Lets the children of a job that has just ended start, unless they wait for something else, such as its files. */
export function releaseChildren(core: Core, tx: Tx, ended: EndedJob): void {
  const root = rootOf(ended);
  if (ended.status === 'completed') releaseBatch(core, tx, ended, { root, on: 'success', parent: null });
  releaseBatch(core, tx, ended, { root, on: 'end', parent: ended.id });
}

function releaseBatch(core: Core, tx: Tx, ended: EndedJob, which: OpenChildren): void {
  const links = tx.openChildren(which, batch);
  for (const { child } of links) releaseChild(core, tx, child, ended);
  const last = links.at(-1);
  if (last === undefined || links.length < batch) return;
  const next = { ...which, after: last };
  tx.afterCommit(() => core.after(0, () => core.later(0, later => releaseNext(core, later, ended.id, next))));
}

function releaseNext(core: Core, tx: Tx, id: JobId, which: OpenChildren): void {
  const parent = tx.job(id);
  if (parent !== null && 'endedAt' in parent) releaseBatch(core, tx, parent, which);
}

/** Called when the files of a completed job have become complete, or are given up: children may take them now. */
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
  const isFree = unmetOf(dependencies) === 0;
  const rank = isFree ? startWaiting(child.rank, core.queueTime()) : child.rank;
  const next = { ...child, dependencies, rank };
  if (!tx.replaceJob(child, next)) throw new Error(`job ${id} changed under its own transaction`);
  if (!isFree) return;
  const { priority, boosts, top } = rank;
  const status = { from: next.status, to: next.status };
  const details = { ...status, priority, boosts, top, parent: ended.id };
  recordJobEvent(core, tx, 'job.dependencies_met', next, system, details);
}

/** Maximum number of children whose views are updated when the status of their parent changes. */
const maxNotified = 100;

/** Tells observers of the jobs that still wait for this one that its status has changed, or that it is a new retry. */
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

/** Continues after a restart, or a time in which the disk refused changes. */
export function releaseMore(core: Core, parents: readonly JobId[]): void {
  for (const id of parents)
    core.later(0, tx => {
      const parent = tx.job(id);
      if (parent !== null && 'endedAt' in parent) releaseChildren(core, tx, parent);
    });
}
